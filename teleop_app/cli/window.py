"""Opening a console as a process of its own, so that nothing it does can disturb a station."""

import subprocess
import sys


def open_window(endpoint: str) -> "subprocess.Popen[bytes]":
    """Start a console for the station at `endpoint`."""
    return subprocess.Popen([sys.executable, "-m", "teleop_app", "console", "--connect", endpoint])
