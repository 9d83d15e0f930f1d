"""What every emulated servo bus has: its servos, and the hand that moves them."""

import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from drivers import clock
from drivers.emulators.servo import EmulatedServo
from drivers.errors import DriverError

COUNTS_PER_RAD = 4096 / (2 * math.pi)
CENTRE = 2048
HAND_SPEED = 1.0
"""How fast `move_hand` moves [rad/s]."""
SILENT_SLOT_S = 0.0002
"""How long the servos behind a missing one wait for it during a sync read [s]."""

Servo = TypeVar("Servo", bound=EmulatedServo)


class EmulatedServoBus(Generic[Servo]):
    """Servos on one bus. The hand may be moved from another thread than the bus runs in."""

    def __init__(self, servos: Sequence[Servo]) -> None:
        """Connect `servos`."""
        self.servos = list(servos)

    def servo(self, servo_id: int) -> Servo:
        """Return the servo that answers to `servo_id`.

        Raises:
            KeyError: There is none.
        """
        for servo in self.servos:
            if servo.servo_id == servo_id:
                return servo
        raise KeyError(servo_id)

    def follow(self, trajectory: Callable[[float], Sequence[float]]) -> None:
        """Hold the passive joints along `trajectory`: monotonic time [s] -> joint angles [rad], 2048 steps being 0."""
        for index, servo in enumerate(self.servos):
            servo.hand = lambda time_s, index=index: CENTRE + COUNTS_PER_RAD * trajectory(time_s)[index]

    def move_hand(self, angles: Sequence[float], speed: float = HAND_SPEED) -> None:
        """Move the passive joints from where they are to `angles` [rad] at `speed` [rad/s], and stay there.

        Raises:
            DriverError: Not one finite angle per joint.
        """
        if len(angles) != len(self.servos) or not all(math.isfinite(angle) for angle in angles):
            raise DriverError(f"the hand needs {len(self.servos)} finite joint angles [rad], not {list(angles)}")
        start_s = clock.now_ns() / 1e9
        for servo, angle in zip(self.servos, angles, strict=True):
            servo.hand = _approach(servo.actual, CENTRE + COUNTS_PER_RAD * angle, start_s, speed * COUNTS_PER_RAD)


def _approach(start: float, end: float, start_s: float, speed: float) -> Callable[[float], float]:
    def position(time_s: float) -> float:
        travelled = max(0.0, time_s - start_s) * speed
        return start + math.copysign(min(travelled, abs(end - start)), end - start)

    return position
