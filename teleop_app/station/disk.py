"""How long the disk still lasts, from what recording really takes of it."""

import shutil
from collections import deque
from pathlib import Path

from drivers import clock

WINDOW_S = 60.0
SETTLED_S = 10.0
"""A measured rate counts once it has been measured for so long [s]."""


class DiskGauge:
    """Watches the free space of one folder. `observe` is called about once a second."""

    def __init__(self, folder: Path, least_bytes: int, least_s: float) -> None:
        """Refuse a start below `least_bytes` or `least_s` [s]; an open episode is closed at half of `least_bytes`."""
        self._folder, self._least_bytes, self._least_s = folder, least_bytes, least_s
        self._seen: deque[tuple[int, int]] = deque()
        self._rate: float | None = None

    def expect(self, bytes_s: float) -> None:
        """Assume a rate until one has been measured [bytes/s]."""
        if self._rate is None:
            self._rate = bytes_s

    def free_bytes(self) -> int:
        """Free space where the folder is, or will be."""
        folder = self._folder
        while not folder.exists():
            folder = folder.parent
        return shutil.disk_usage(folder).free

    def observe(self, *, recording: bool) -> None:
        """Measure while recording; forget the measurement's start otherwise."""
        if not recording:
            self._seen.clear()
            return
        now_ns = clock.now_ns()
        self._seen.append((now_ns, self.free_bytes()))
        while now_ns - self._seen[0][0] > WINDOW_S * 1e9:
            self._seen.popleft()
        (first_ns, before), (last_ns, after) = self._seen[0], self._seen[-1]
        if last_ns - first_ns >= SETTLED_S * 1e9:
            self._rate = max(0.0, (before - after) / ((last_ns - first_ns) / 1e9))

    def left_s(self) -> float | None:
        """Recording time left above the reserve; None while no rate is known or nothing is being used [s]."""
        if not self._rate:
            return None
        return max(0, self.free_bytes() - self._least_bytes // 2) / self._rate

    def refusal(self) -> str:
        """Why a start is refused now, with the numbers; empty if it is not."""
        free, left_s = self.free_bytes(), self.left_s()
        if free < self._least_bytes:
            return f"{self._folder} has {free / 1e6:.0f} MB left; an episode needs {self._least_bytes / 1e6:.0f} MB"
        if left_s is not None and left_s < self._least_s and self._rate:
            return (
                f"{self._folder} has {free / 1e6:.0f} MB left, {left_s / 60:.1f} minutes "
                f"at {self._rate / 1e6:.1f} MB/s; an episode needs {self._least_s / 60:.1f} minutes"
            )
        return ""

    def exhausted(self) -> bool:
        """Whether an open episode must be closed now, while it still can be closed well."""
        return self.free_bytes() < self._least_bytes // 2
