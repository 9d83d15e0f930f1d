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


def largest_error(device: FloatArray, follower: FloatArray) -> float:
    """Largest joint difference between the operator's device and the follower's command [rad]."""
    return float(np.abs(device - follower).max())
