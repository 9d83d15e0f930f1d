"""The real window on the real simulated station, on a real X server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest

from tests.system.commands import CONFIG, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.gl, pytest.mark.timeout(120)]


@pytest.fixture
def display() -> Iterator[str]:
    """An X server of the test's own."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1440x900x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=(writing,), stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as number:
        yield f":{number.readline().strip()}"
    server.terminate()
    server.wait(10)


def test_the_window_shows_the_station_and_ends_what_it_started(display: str, tmp_path: Path) -> None:
    picture = tmp_path / "window.png"
    command = [sys.executable, "-m", "teleop_app", "console", str(CONFIG / "sim.yaml")]
    command += ["--collection", str(tmp_path / "collection"), "--screenshot", str(picture), "--quit-after", "6"]
    done = subprocess.run(
        command,
        env={**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    image = cv2.imread(str(picture))
    assert image is not None
    assert image.shape[:2] == (900, 1440) or image.shape[0] > 600
    front = image[150:550, 100:650]
    assert front.std() > 25, "the front camera's picture is in the window"
