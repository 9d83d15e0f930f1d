import os
import subprocess
import sys

import pytest

from drivers.errors import DriverError
from drivers.sim import gl_backend

CONNECT = """
import sys
from drivers.configs import SimCameraConfig
from drivers.errors import DriverError
from drivers.sim.camera import SimCamera

try:
    SimCamera(SimCameraConfig(name="front"), "nobody").connect()
except DriverError as error:
    print(error)
"""


def test_without_opengl_the_camera_names_the_packages_in_one_sentence(tmp_path):
    for library in ("libEGL.so.1", "libOSMesa.so.8", "libOSMesa.so.6"):
        (tmp_path / library).write_bytes(b"")
    environment = {key: value for key, value in os.environ.items() if key != "MUJOCO_GL"}
    environment["LD_LIBRARY_PATH"] = str(tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", CONNECT], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines() == [
        "front: cannot render the simulation: no working OpenGL; "
        "install libegl1 libegl-mesa0 libgl1-mesa-dri (EGL) or libosmesa6 (OSMesa)"
    ]
    assert result.stderr == ""


@pytest.fixture
def fresh(monkeypatch):
    """A process that has neither chosen a backend nor imported MuJoCo."""
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.delitem(sys.modules, "mujoco", raising=False)


def test_egl_comes_first_and_osmesa_second(fresh, monkeypatch):
    monkeypatch.setitem(gl_backend._BACKENDS, "egl", lambda: True)
    assert gl_backend.choose_gl_backend() == os.environ["MUJOCO_GL"] == "egl"
    monkeypatch.delenv("MUJOCO_GL")
    monkeypatch.setitem(gl_backend._BACKENDS, "egl", lambda: False)
    monkeypatch.setitem(gl_backend._BACKENDS, "osmesa", lambda: True)
    assert gl_backend.choose_gl_backend() == os.environ["MUJOCO_GL"] == "osmesa"


def test_the_users_choice_is_kept(fresh, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    assert gl_backend.choose_gl_backend() == "glfw"


def test_the_users_choice_is_checked(fresh, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    monkeypatch.setitem(gl_backend._BACKENDS, "osmesa", lambda: False)
    with pytest.raises(DriverError, match=r"MUJOCO_GL=osmesa does not work here; install .* libosmesa6"):
        gl_backend.choose_gl_backend()


def test_too_late_is_said(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", object())
    with pytest.raises(DriverError, match="imported without MUJOCO_GL=egl"):
        gl_backend.choose_gl_backend()
