"""The firmware and the mechanics of one emulated STS3215.

Memory is the same table that the driver uses. The mechanics are first order: the output shaft approaches its goal with
a time constant, within the goal velocity, the acceleration and the torque limit. A blocked shaft builds up load until
the overload protection latches, as in the device, until the power is cycled.
"""

from drivers.emulators.servo import EmulatedServo
from drivers.servo.feetech import ServoError
from drivers.servo.feetech_table import STS3215
from drivers.servo.registers import ServoModel

CENTRE_HERE = 128
"""Written to `torque_enable`: make the present position the middle."""
TOP_SPEED = 3400.0
"""[step/s] at full torque."""
ACCELERATION_UNIT = 100.0
"""[step/s^2]."""
MULTI_TURN_FEEDBACK = 1 << 4
"""Bit of `phase`."""


class FeetechServo(EmulatedServo):
    """One STS3215."""

    def __init__(self, servo_id: int, model: ServoModel = STS3215, actual: float = 2048.0) -> None:
        """Power up with factory settings and the shaft at `actual` [step]."""
        self._overload_s = 0.0
        super().__init__(servo_id, model, actual)

    @property
    def error(self) -> ServoError:
        """The error byte of its replies."""
        return ServoError(self.memory[self.model["status"].address])

    def write(self, address: int, data: bytes) -> None:
        """Do what a WRITE does: read-only addresses ignore it, and EEPROM keeps it only while `lock` is 0."""
        keep = self.get("lock") == 0
        for offset, value in enumerate(data, start=address):
            if offset not in self._writable:
                continue
            self.memory[offset] = value
            if keep and offset < self._eeprom_end:
                self._kept[offset] = value
        if self.get("torque_enable") == CENTRE_HERE:
            self._centre_here()
        self._publish()

    def act(self) -> None:
        """Carry out the registered write, if any."""
        if self._registered is not None:
            self.write(*self._registered)
        self._registered = None
        self.set("write_pending", 0)

    def _wake(self) -> None:
        self.set("torque_limit", self.get("max_torque"))
        self._overload_s = 0.0
        self.set("present_voltage", 74)
        self.set("present_temperature", 30)

    def _give_way(self, elapsed_s: float, time_s: float) -> None:
        super()._give_way(elapsed_s, time_s)
        self._overload_s = 0.0

    def _drive(self, elapsed_s: float) -> None:
        strength = self._strength()
        distance = float(self.get("goal_position") - self._present())
        top = min(abs(self.get("goal_velocity")) or TOP_SPEED, TOP_SPEED * strength)
        left = self._approach(distance, top, self.get("acceleration") * ACCELERATION_UNIT, elapsed_s)
        self._protect(left, strength, elapsed_s)

    def _strength(self) -> float:
        """Share of full torque available."""
        if self.latched & ServoError.OVERLOAD:
            return self.get("protective_torque") / 100
        return self.get("torque_limit") / 1000

    def _protect(self, distance: float, strength: float, elapsed_s: float) -> None:
        """A blocked shaft away from its goal loads the motor until the protection latches."""
        load = round(1000 * strength * max(-1.0, min(1.0, distance / 100))) if self.blocked else 0
        self.set("present_load", load)
        overloaded = abs(load) >= 10 * self.get("overload_torque")
        self._overload_s = self._overload_s + elapsed_s if overloaded else 0.0
        if self._overload_s * 100 > self.get("protection_time"):
            self.latch(ServoError.OVERLOAD)

    def _present(self) -> int:
        """Position as the servo reports it: the offset subtracted, within one turn unless `phase` says otherwise."""
        position = round(self.actual) - self.get("homing_offset")
        return position if self.get("phase") & MULTI_TURN_FEEDBACK else position % self.model.counts_per_turn

    def _publish(self) -> None:
        self._report("present_position", self._present())
        self._report("present_velocity", self.velocity)
        echo, goal = self.model["goal_position_echo"], self.model["goal_position"]
        self._poke(echo.address, self.read(goal.address, goal.size))
        self.memory[self.model["moving"].address] = abs(self.velocity) > self.get("moving_threshold")

    def _update_status(self) -> None:
        error = self.latched
        if not self.get("min_voltage") <= self.get("present_voltage") <= self.get("max_voltage"):
            error |= ServoError.VOLTAGE.value
        if self.get("present_temperature") > self.get("max_temperature"):
            error |= ServoError.TEMPERATURE.value
        self.memory[self.model["status"].address] = error

    def _centre_here(self) -> None:
        turn = self.model.counts_per_turn
        offset = (round(self.actual) - turn // 2) % turn
        limit = self.model["homing_offset"].limit
        self.set("homing_offset", max(-limit, min(limit, offset - turn if offset > turn // 2 else offset)))
        self.set("torque_enable", 0)
        register = self.model["homing_offset"]
        span = slice(register.address, register.address + register.size)
        self._kept[span] = self.memory[span]
