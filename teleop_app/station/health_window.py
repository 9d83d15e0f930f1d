"""The last seconds of one stream's stamps, and what they come to."""

from collections import deque

import numpy as np

from teleop_app.station.health_figures import Figures

LEAST_INTERVALS = 3
ENOUGH = 0.8
"""The first judgement is made once so much of the window has been seen."""


class StampWindow:
    """Bounded by time. Not locked: whoever owns it is."""

    def __init__(self, window_s: float) -> None:
        """Keep `window_s` [s]."""
        self._window_ns = round(window_s * 1e9)
        self._time: deque[int] = deque()
        self._received: deque[int] = deque()
        self._first_offset_s: float | None = None
        self._seen = False

    @property
    def start_ns(self) -> int:
        """Arrival of the oldest sample within [ns]."""
        return self._received[0]

    def measure_drift_from_here(self) -> None:
        """Let the next figures be those that drift is counted from."""
        self._first_offset_s = None

    def add(self, time_ns: int, received_ns: int) -> None:
        """Take in one sample, and let go of those that are too old."""
        self._time.append(time_ns)
        self._received.append(received_ns)
        while received_ns - self._received[0] > self._window_ns:
            self._time.popleft()
            self._received.popleft()
        self._seen = self._seen or received_ns - self._received[0] >= ENOUGH * self._window_ns

    def figures(self, drops: int) -> Figures | None:
        """What the window comes to; None before so much has been seen."""
        if not self._seen:
            return None
        time, received = (np.fromiter(stamps, np.int64, len(stamps)) for stamps in (self._time, self._received))
        steps = np.diff(time)
        steps = steps[steps > 0]
        offset_s = float(np.median(received - time)) / 1e9
        if self._first_offset_s is None:
            self._first_offset_s = offset_s
        drift_s = offset_s - self._first_offset_s
        if len(steps) < LEAST_INTERVALS or 2 * int(steps.sum()) < self._window_ns:
            return Figures(offset_s=offset_s, drift_s=drift_s, drops=drops)
        spread = np.sort(np.abs(steps - np.median(steps)))
        return Figures(
            rate_hz=len(steps) * 1e9 / int(steps.sum()),
            jitter_s=float(spread[int(np.ceil(0.95 * len(spread))) - 1]) / 1e9,
            offset_s=offset_s,
            drift_s=drift_s,
            drops=drops,
        )
