"""Starts and ends the world's process for the arm that owns it."""

import logging
import os
import select
import subprocess
import sys
from pathlib import Path

from drivers.errors import DriverError
from drivers.sim import world_state as ws
from drivers.sim.world_process import READY

log = logging.getLogger(__name__)

_SOURCE = str(Path(__file__).resolve().parents[2])
_END_LIMIT_S = 2.0


class WorldHandle:
    """A running world process."""

    def __init__(self, device: str, run_id: str, rate_hz: float) -> None:
        """Start the process; `wait_ready` tells whether it came up."""
        self._device = device
        arguments = ["--run-id", run_id, "--rate-hz", repr(rate_hz), "--parent", str(os.getpid())]
        paths = [_SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "drivers.sim.world_process", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MUJOCO_GL": "disable"},
            text=True,
        )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def wait_ready(self) -> None:
        """Wait for the process to say that it simulates.

        Raises:
            DriverError: it ended, or said nothing for 10 s.
        """
        output = self._process.stdout
        line = ""
        if output is not None and select.select([output], [], [], ws.START_LIMIT_S)[0]:
            line = output.readline().strip()
        if line != READY:
            what = line or ("it ended without a word" if self._ended() else f"no answer for {ws.START_LIMIT_S:.0f} s")
            raise DriverError(f"{self._device}: the simulated world did not start: {what}")

    def end(self) -> None:
        """End the process, by force if it does not within 2 s. Can be called again."""
        if self.alive:
            self._process.terminate()
            if not self._ended():
                log.warning("%s: the simulated world did not end when asked and was killed", self._device)
                self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ended(self) -> bool:
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return False
        return True
