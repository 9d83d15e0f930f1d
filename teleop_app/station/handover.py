"""Bumpless transfer: blending from the command in force to the one that takes over, and when that may begin."""

import numpy as np

from drivers.samples import FloatArray


def minimum_jerk(progress: float) -> float:
    """Smooth step from 0 to 1 with zero velocity and acceleration at both ends: 10 s^3 - 15 s^4 + 6 s^5.

    Source: Flash and Hogan 1985, the minimum-jerk profile.
    """
    s = min(max(progress, 0.0), 1.0)
    return s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)


def blend(start: FloatArray, target: FloatArray, elapsed_s: float, duration_s: float) -> tuple[FloatArray, float]:
    """Blend from `start` to a moving `target`.

    Args:
        start: Command when the blend began [rad], shape (n_joints,).
        target: What takes over, as of now [rad], shape (n_joints,).
        elapsed_s: Time since the blend began [s].
        duration_s: Length of the blend; 0 is over at once [s].

    Returns:
        The blended command [rad], shape (n_joints,), and the share of `target` in it, 0 to 1.
    """
    share = minimum_jerk(elapsed_s / duration_s) if duration_s > 0 else 1.0
    return start + share * (target - start), share


class Alignment:
    """Whether the operator's device has agreed with the follower for long enough."""

    def __init__(self, tolerance: float, hold_s: float) -> None:
        """Agree within `tolerance` [rad], for `hold_s` [s]."""
        self._tolerance, self._hold_ns = tolerance, round(hold_s * 1e9)
        self._since_ns = 0

    def forget(self) -> None:
        """Start over."""
        self._since_ns = 0

    def see(self, error: float, now_ns: int) -> bool:
        """Take the largest joint error as of `now_ns` [rad]; whether it has been small for long enough."""
        if not error <= self._tolerance:
            self._since_ns = 0
            return False
        self._since_ns = self._since_ns or now_ns
        return now_ns - self._since_ns >= self._hold_ns


class Transfer:
    """One blend from the command in force to whoever takes over."""

    def __init__(self, start: FloatArray, now_ns: int, duration_s: float) -> None:
        """Begin at `start` [rad], shape (n_joints,), and take `duration_s` [s]."""
        self._start, self._begun_ns, self._duration_s = start, now_ns, duration_s

    def at(self, target: FloatArray, now_ns: int) -> tuple[FloatArray, float]:
        """The blended command [rad], shape (n_joints,), and the share of `target` in it."""
        return blend(self._start, target, (now_ns - self._begun_ns) / 1e9, self._duration_s)

    def over(self, now_ns: int) -> bool:
        """Whether it has taken its time."""
        return now_ns - self._begun_ns >= self._duration_s * 1e9


def largest_error(device: FloatArray, follower: FloatArray) -> float:
    """Largest joint difference between the operator's device and the follower's command [rad]."""
    return float(np.abs(device - follower).max())
