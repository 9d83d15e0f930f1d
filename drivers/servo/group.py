"""The servos of one arm as a unit, in ids and encoder counts: measure, engage, drive, hold, release."""

import logging
from collections.abc import Mapping

from drivers.servo.bus import BlockRead, BusError, ServoBus
from drivers.servo.codec import Condition
from drivers.servo.registers import Register, ServoModel

log = logging.getLogger(__name__)

TORQUE_OFF, TORQUE_ON = 0, 1
WATCHDOG_UNIT_S = 0.02
WATCHDOG_S = 1.0
"""A driven servo that hears nothing for so long stops, and takes no goals until it is engaged again [s]."""
WATCHDOG_TRIPPED = -1


class ServoGroup:
    """Servos of one family on one bus. No failing servo keeps the others from being handled."""

    def __init__(self, bus: ServoBus, models: Mapping[int, ServoModel]) -> None:
        """Take the servos in `models`, id -> model, together; no I/O."""
        self._bus = bus
        self._models = dict(models)
        self._ids = tuple(models)
        model = next(iter(models.values()))  # a family has these registers at the same places
        self._goal, self._position, self._velocity = (
            model[name] for name in ("goal_position", "present_position", "present_velocity")
        )
        self._watchdog = model.registers.get("bus_watchdog")
        self._start = min(self._position.address, self._velocity.address)
        self._size = max(r.address + r.size for r in (self._position, self._velocity)) - self._start

    def measure(self, give_up_ns: int) -> BlockRead:
        """Read position and velocity of all in one transaction; no retry starts after `give_up_ns`."""
        return self._bus.sync_read(self._ids, self._start, self._size, give_up_ns=give_up_ns)

    def decode(self, data: bytes) -> tuple[int, int]:
        """Return position [count] and velocity [count] of one servo's measurement."""
        position, velocity = (r.decode(data[r.address - self._start :]) for r in (self._position, self._velocity))
        return position, velocity

    def ailment(self, servo_id: int, condition: Condition) -> str:
        """Say what ails a servo; if its reply only raised the alarm, ask it once."""
        model = self._models[servo_id]
        if not condition.alert:
            return condition.words
        register = model["status"]
        reply = self._bus.read(servo_id, register.address, register.size, retries=0)
        return condition.words if reply.data is None else model.codec.status_words(register.decode(reply.data))

    def engage(self) -> list[int]:
        """Switch torque on where each servo is: the goal first, because a servo drives to its stored goal at once.

        Returns:
            The positions [count].

        Raises:
            BusError: A servo does not answer; those before it hold their place.
        """
        return [self._engage(servo_id) for servo_id in self._ids]

    def _engage(self, servo_id: int) -> int:
        if self._watchdog is not None:
            self._bus.set_value(servo_id, self._watchdog, 0)  # one that has tripped keeps goals from being set
        present = self._bus.value(servo_id, self._position)
        self._bus.set_value(servo_id, self._goal, present)
        self._bus.set_value(servo_id, self._models[servo_id]["torque_enable"], TORQUE_ON)
        if self._watchdog is not None:
            self._bus.set_value(servo_id, self._watchdog, round(WATCHDOG_S / WATCHDOG_UNIT_S))
        return present

    def require_listening(self, where: str, joint_of: Mapping[int, str]) -> None:
        """Check that no servo has stopped because it heard nothing; `joint_of` names the joints by id.

        Raises:
            BusError: Some have; they hold, and take no goals.
        """
        if self._watchdog is None:
            return
        block = self._bus.sync_read(self._ids, self._watchdog.address, self._watchdog.size)
        stopped = [
            joint_of[servo_id]
            for servo_id, reply in block.replies.items()
            if reply.data is not None and self._watchdog.decode(reply.data) == WATCHDOG_TRIPPED
        ]
        if stopped:
            raise BusError(
                f"{where}: {', '.join(stopped)} heard nothing for {WATCHDOG_S:g} s, stopped and hold: "
                "connect the arm again"
            )

    def leave_alone(self) -> dict[int, BusError]:
        """Let the servos hold their place without being talked to; return those that could not be told, and why."""
        return {} if self._watchdog is None else self._set_each(self._watchdog, 0)

    def release(self) -> dict[int, BusError]:
        """Switch every servo's torque off, each on its own; return those that could not be, and why."""
        return self._set_each(next(iter(self._models.values()))["torque_enable"], TORQUE_OFF)

    def _set_each(self, register: Register, value: int) -> dict[int, BusError]:
        failed = {}
        for servo_id in self._ids:
            try:
                self._bus.set_value(servo_id, register, value)
            except BusError as error:
                failed[servo_id] = error
        return failed

    def reboot(self) -> list[int]:
        """Restart the servos that have something latched; their torque is off then. Return them.

        Raises:
            BusError: One does not come back, or its family cannot be restarted so.
        """
        latched = [
            servo_id
            for servo_id, model in self._models.items()
            if self._bus.value(servo_id, model["status"]) & model.latching
        ]
        for servo_id in latched:
            self._bus.reboot(servo_id)
        return latched

    def drive(self, goals: Mapping[int, int]) -> None:
        """Send goals [count] to the servos in `goals` in one transaction."""
        self._bus.sync_write(
            self._goal.address, {servo_id: self._goal.encode(goal) for servo_id, goal in goals.items()}
        )

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
