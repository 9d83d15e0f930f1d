"""Running the product as its users do, for system tests."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "launch" / "config"


def teleop(*arguments: object, expect: int = 0, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run one `teleop` command; its exit code must be `expect`, and a traceback is always wrong."""
    command = [sys.executable, "-m", "teleop_app", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=170, cwd=ROOT, check=False, env={**os.environ, **(env or {})}
    )
    assert done.returncode == expect, f"{arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def wait_for(condition: Callable[[], object], timeout_s: float = 40.0, what: str = "") -> None:
    """Return when `condition` holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """Processes whose parent is `pid`."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found
