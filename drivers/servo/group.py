"""The servos of one arm as a unit, in ids and encoder counts: measure, engage, drive, hold, release."""

import logging
from collections.abc import Mapping, Sequence

from drivers.servo.bus import BlockRead, BusError, ServoBus
from drivers.servo.control_table import ServoModel

log = logging.getLogger(__name__)

TORQUE_OFF, TORQUE_ON = 0, 1


class ServoGroup:
    """Servos of one model on one bus. No failing servo keeps the others from being handled."""

    def __init__(self, bus: ServoBus, model: ServoModel, servo_ids: Sequence[int]) -> None:
        """Take `servo_ids` of `bus` together; no I/O."""
        self._bus = bus
        self._model = model
        self._ids = tuple(servo_ids)
        self._position, self._velocity = model["present_position"], model["present_velocity"]
        self._measured_size = self._velocity.address + self._velocity.size - self._position.address

    def measure(self, give_up_ns: int) -> BlockRead:
        """Read position and velocity of all in one transaction; no retry starts after `give_up_ns`."""
        return self._bus.sync_read(self._ids, self._position.address, self._measured_size, give_up_ns=give_up_ns)

    def decode(self, data: bytes) -> tuple[int, int]:
        """Return position [count] and velocity [count] of one servo's measurement."""
        return self._position.decode(data), self._velocity.decode(data[self._position.size :])

    def engage(self) -> None:
        """Switch torque on where each servo is: the goal first, because a servo drives to its stored goal at once.

        Raises:
            BusError: A servo does not answer; those before it hold their place.
        """
        for servo_id in self._ids:
            present = self._bus.value(servo_id, self._position)
            self._bus.set_value(servo_id, self._model["goal_position"], present)
            self._bus.set_value(servo_id, self._model["torque_enable"], TORQUE_ON)

    def release(self) -> dict[int, BusError]:
        """Switch every servo's torque off, each on its own; return those that could not be, and why."""
        stuck = {}
        for servo_id in self._ids:
            try:
                self._bus.set_value(servo_id, self._model["torque_enable"], TORQUE_OFF)
            except BusError as error:
                stuck[servo_id] = error
        return stuck

    def drive(self, goals: Mapping[int, int]) -> None:
        """Send goals [count] to the servos in `goals` in one transaction."""
        register = self._model["goal_position"]
        self._bus.sync_write(register.address, {servo_id: register.encode(goal) for servo_id, goal in goals.items()})

    def hold(self) -> list[int]:
        """Make the present position the goal; return the servos that did not answer and so keep their last goal."""
        block = self._bus.sync_read(self._ids, self._position.address, self._position.size)
        present = {
            servo_id: self._position.decode(reply.data)
            for servo_id, reply in block.replies.items()
            if reply.data is not None
        }
        if present:
            self.drive(present)
        return block.missing
