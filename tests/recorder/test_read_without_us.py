import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import recorder
from tests.recorder.samples import ARM, CAMERA, record

PACKAGES = ("zarr>=3.1", "imagecodecs>=2026.10.10", "imagecodecs-zarr", "xarray")
SCRIPT = Path(__file__).with_name("read_without_us.py")


def find_python() -> str:
    """A Python that imagecodecs' Zarr codecs are published for."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = [str(path) for version in ("3.13", "3.12") for path in sorted(pyenv.glob(f"{version}.*/bin/python"))]
    for candidate in (shutil.which("python3.13"), shutil.which("python3.12"), *installed):
        if (
            candidate
            and subprocess.run([candidate, "-c", "import venv"], capture_output=True, check=False).returncode == 0
        ):
            return candidate
    pytest.skip("NOT PROVEN HERE: plain zarr reads our images (there is no Python 3.12 or 3.13 on this machine)")


@pytest.fixture(scope="session")
def plain_python(request: pytest.FixtureRequest) -> str:
    """An environment with zarr and imagecodecs only; kept in pytest's cache, since it takes a while to make."""
    folder = Path(request.config.cache.mkdir("plain-zarr"))
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.is_file():
        subprocess.run([find_python(), "-m", "venv", "--clear", folder], check=True, capture_output=True)
        done = subprocess.run(
            [python, "-m", "pip", "install", "-q", *PACKAGES], capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.skip(f"NOT PROVEN HERE: plain zarr reads our images (pip: {done.stderr.strip().splitlines()[-1]})")
        ready.touch()
    return str(python)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_plain_zarr_and_xarray_read_an_episode(tmp_path: Path, plain_python: str) -> None:
    path, _ = record(tmp_path, {"arm": 50, "camera": 300}, [ARM, CAMERA])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([plain_python, SCRIPT, path], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    arm, camera = recorder.open(path).streams.values()
    assert found["ours"] == []
    assert (found["task"], found["members"]) == ("pick", ["arm", "camera"])
    assert found["time"] == arm.time.tolist()
    assert found["position"] == found["xarray position"] == arm.field("position").tolist()
    assert found["frames"] == [300, 16, 24, 3]
    assert found["frame"] == found["xarray frame"] == camera.frame(299).tolist()
    assert (found["xarray time"], found["xarray units"]) == ("int64", "rad")
