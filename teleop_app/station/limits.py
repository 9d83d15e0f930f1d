"""What no command may exceed, as pure functions; every alteration is reported.

Order: finite, position, velocity, acceleration, lag (age, dead-man and mode are judged before, by the control loop).
"""

from dataclasses import dataclass
from enum import IntFlag

import numpy as np

from drivers.samples import FloatArray, frozen_array


class Clamp(IntFlag):
    """Which limits altered a command; the value is what the control stream stores."""

    NONE = 0
    NOT_FINITE = 1
    """The target was refused and the last command repeated."""
    POSITION = 2
    VELOCITY = 4
    ACCELERATION = 8
    LAG = 16
    STALE = 32
    """Whoever commands, or the arm's state, was too old; the last command was repeated."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one arm; arrays of shape (n_joints,)."""

    lower: FloatArray
    """[rad]."""
    upper: FloatArray
    """[rad]."""
    velocity: float
    """[rad/s]."""
    acceleration: float
    """[rad/s^2]."""
    lag: float
    """Largest distance of a command from the measured position [rad]."""


@dataclass(frozen=True, slots=True)
class LimitedCommand:
    """What may be sent."""

    position: FloatArray
    """[rad], shape (n_joints,)."""
    velocity: FloatArray
    """Of the command sequence [rad/s], shape (n_joints,)."""
    clamps: Clamp


_TOLERANCE = 1e-9


def limit(
    target: FloatArray,
    previous: LimitedCommand,
    measured: FloatArray,
    limits: Limits,
    period_s: float,
) -> LimitedCommand:
    """Bring `target` within all limits.

    Args:
        target: Position asked for [rad], shape (n_joints,).
        previous: The last command sent.
        measured: Measured position [rad], shape (n_joints,).
        limits: The arm's limits.
        period_s: Control period; a late tick does not earn a larger step [s].

    Returns:
        A command whose step from `previous` is within velocity * period, whose velocity changes by at most
        acceleration * period except where braking for a position limit or a hold needs more, and which lies in
        [lower, upper].
    """
    if target.shape != previous.position.shape or not np.isfinite(target).all():
        return hold(previous, Clamp.NOT_FINITE)
    clamps = Clamp.NONE
    bounded = np.clip(target, limits.lower, limits.upper)
    clamps |= _flag(Clamp.POSITION, bounded, target)
    near = np.clip(bounded, measured - limits.lag, measured + limits.lag)
    clamps |= _flag(Clamp.LAG, near, bounded)
    wanted = (near - previous.position) / period_s
    fast = np.clip(wanted, -limits.velocity, limits.velocity)
    clamps |= _flag(Clamp.VELOCITY, fast, wanted)
    step = limits.acceleration * period_s
    braking = _braking_velocity(np.abs(near - previous.position), limits.acceleration, period_s)
    approach = np.clip(fast, -braking, braking)
    smooth = np.clip(approach, previous.velocity - step, previous.velocity + step)
    clamps |= _flag(Clamp.ACCELERATION, smooth, fast)
    position = np.clip(previous.position + smooth * period_s, limits.lower, limits.upper)
    return LimitedCommand(frozen_array(position), frozen_array((position - previous.position) / period_s), clamps)


def hold(previous: LimitedCommand, clamps: Clamp = Clamp.NONE) -> LimitedCommand:
    """Repeat the last command: the freeze of a takeover, a pause or a stop, from one tick to the next."""
    return LimitedCommand(previous.position, frozen_array(np.zeros_like(previous.position)), clamps)


def _braking_velocity(distance: FloatArray, acceleration: float, period_s: float) -> FloatArray:
    """Highest velocity from which `distance` still suffices to stop in steps of one period [rad/s].

    Solves v^2 / (2 a) + v T / 2 = d for v: the distance covered while v falls by a T each period.
    """
    step = acceleration * period_s
    return 0.5 * (np.sqrt(step * step + 8.0 * acceleration * distance) - step)


def _flag(clamp: Clamp, after: FloatArray, before: FloatArray) -> Clamp:
    """`clamp` if anything moved by more than rounding."""
    return clamp if bool((np.abs(after - before) > _TOLERANCE).any()) else Clamp.NONE
