"""One smooth move in joint space, advanced by whoever commands it."""

import numpy as np

from drivers.samples import FloatArray

_PEAK = 1.875
"""Peak speed of the minimum-jerk profile over its mean speed."""
_SHORTEST_S = 0.25


class SmoothMove:
    """All joints from `start` to `goal` on one minimum-jerk profile, none faster than `speed`."""

    def __init__(self, start: FloatArray, goal: FloatArray, speed: float) -> None:
        """Plan the move; `start` and `goal` in rad, shape (n_joints,), `speed` in rad/s."""
        self._start, self._goal = start, goal
        self._duration_s = max(_SHORTEST_S, _PEAK * float(np.max(np.abs(goal - start))) / speed)
        self._elapsed_s = 0.0

    @property
    def overtime_s(self) -> float:
        """How long ago the goal was reached, negative before [s]."""
        return self._elapsed_s - self._duration_s

    def advance(self, step_s: float) -> FloatArray:
        """Move on by `step_s` [s] and return the position then [rad], shape (n_joints,)."""
        self._elapsed_s += step_s
        u = min(1.0, self._elapsed_s / self._duration_s)
        return self._start + (self._goal - self._start) * (u**3 * (10 - 15 * u + 6 * u**2))
