"""The firmware and the mechanics of one emulated DYNAMIXEL servo of the X series.

What the device refuses is refused with the device's error codes. A hardware error that the register `shutdown` selects
switches the torque off, and it stays off until the servo is rebooted. Source: https://emanual.robotis.com/docs/en/dxl/x/.
"""

from collections.abc import Iterator

from drivers.emulators.servo import EmulatedServo
from drivers.servo.dynamixel_errors import ALERT, HardwareError, Refusal
from drivers.servo.dynamixel_table import CURRENT_BASED_POSITION, EXTENDED_POSITION, POSITION
from drivers.servo.registers import ServoModel

VELOCITY_COUNT = 0.229 * 4096 / 60
"""One count of velocity [step/s]."""
ACCELERATION_COUNT = 214.577 * 4096 / 3600
"""One count of acceleration [step/s^2]."""
WATCHDOG_UNIT_S = 0.02
LONGEST_WATCHDOG = 127
TRIPPED = -1
OVERLOAD_S = 1.0
"""How long a blocked shaft may load the motor [s]."""
BOOT_S = 0.1
"""How long a rebooted servo stays silent [s]."""
REVERSE = 1
"""Bit of the drive mode."""
OTHER_MODES = (0, 1, 16)
GOALS = ("goal_pwm", "goal_current", "goal_velocity", "goal_position")
ACCEPTED = 0


class DynamixelServo(EmulatedServo):
    """One servo of the X series."""

    def __init__(self, servo_id: int, model: ServoModel, actual: float = 2048.0) -> None:
        """Power up with factory settings and the shaft at `actual` [step]."""
        self._overload_s = 0.0
        self._heard_s = 0.0
        self._silent_until_s = 0.0
        super().__init__(servo_id, model, actual)

    @property
    def alert(self) -> int:
        """What the error byte of every reply contains."""
        return ALERT if self.get("status") else 0

    def hear(self, time_s: float) -> bool:
        """Run until an instruction arrives at `time_s`; return whether the servo is awake to hear it."""
        watchdog = self.get("bus_watchdog")
        trip_s = self._heard_s + watchdog * WATCHDOG_UNIT_S
        if watchdog > 0 and self.get("torque_enable") and time_s > trip_s:
            self.advance(trip_s)
            self._stop()
        self.advance(time_s)
        self._heard_s = time_s
        return time_s >= self._silent_until_s

    def reboot(self, time_s: float) -> None:
        """Restart; nothing is heard for a while."""
        self.power_cycle()
        self._silent_until_s = time_s + BOOT_S

    def clear_turns(self) -> None:
        """Forget the turns counted."""
        self.actual %= self.model.counts_per_turn
        self._publish()

    def latch(self, error: int) -> None:
        """Set hardware errors; those that `shutdown` selects switch the torque off."""
        super().latch(error)
        if self.latched & self.get("shutdown"):
            self.set("torque_enable", 0)

    def write(self, address: int, data: bytes) -> int:
        """Do what a WRITE does; return 0, or why it was refused."""
        span = range(address, address + len(data))
        if not data or not self._writable.issuperset(span):
            return Refusal.ACCESS
        if address < self._eeprom_end and self.get("torque_enable"):
            return Refusal.ACCESS
        for name, value in self._touched(address, data):
            if refusal := self._refusal(name, value):
                return refusal
        mode = self.get("mode")
        self._poke(address, data)
        if address < self._eeprom_end:
            self._kept[address : address + len(data)] = data
        if self.get("mode") != mode:
            self.set("profile_velocity", 0)
            self.set("profile_acceleration", 0)
        self._publish()
        return ACCEPTED

    def act(self) -> int:
        """Carry out the registered write; return 0, or why it was refused."""
        registered, self._registered = self._registered, None
        self.set("write_pending", 0)
        return Refusal.RESULT_FAIL if registered is None else self.write(*registered)

    def _touched(self, address: int, data: bytes) -> Iterator[tuple[str, int]]:
        """The registers that a write covers as a whole, with their new values."""
        for name, register in self.model.registers.items():
            start = register.address - address
            if start >= 0 and start + register.size <= len(data):
                yield name, register.decode(data[start:])

    def _refusal(self, name: str, value: int) -> int:
        if name in GOALS and self.get("bus_watchdog") == TRIPPED:
            return Refusal.DATA_RANGE
        match name:
            case "torque_enable" if value == 1 and self.latched & self.get("shutdown"):
                return Refusal.RESULT_FAIL
            case "torque_enable" if value not in (0, 1):
                return Refusal.DATA_RANGE
            case "mode" if value not in self.model.position_modes and value not in OTHER_MODES:
                return Refusal.DATA_RANGE
            case "bus_watchdog" if not 0 <= value <= LONGEST_WATCHDOG:
                return Refusal.DATA_RANGE
            case "id" if value > 252:
                return Refusal.DATA_RANGE
            case "goal_position" if self.get("mode") == POSITION and not self._within_limits(value):
                return Refusal.DATA_LIMIT
            case _:
                return ACCEPTED

    def _within_limits(self, goal: int) -> bool:
        return self.get("min_position_limit") <= goal <= self.get("max_position_limit")

    def _wake(self) -> None:
        self._overload_s = 0.0
        self.set("present_voltage", (self.get("min_voltage") + self.get("max_voltage")) // 2)
        self.set("present_temperature", 30)
        self._report("goal_position", self._present())

    def _stop(self) -> None:
        self.set("bus_watchdog", TRIPPED)
        self.set("profile_velocity", 0)
        self.set("profile_acceleration", 0)
        self._report("goal_position", self._present())
        self.velocity = 0.0

    def _drive(self, elapsed_s: float) -> None:
        if self.get("mode") not in self.model.position_modes:
            self.velocity = 0.0
            return
        distance = self._sign * float(self.get("goal_position") - self._present())
        top = self.get("profile_velocity") or self.get("velocity_limit")
        acceleration = self.get("profile_acceleration") * ACCELERATION_COUNT
        left = self._approach(distance, top * VELOCITY_COUNT, acceleration, elapsed_s)
        strained = self.blocked and abs(left) > 100
        self._overload_s = self._overload_s + elapsed_s if strained else 0.0
        if self._overload_s > OVERLOAD_S:
            self.latch(HardwareError.OVERLOAD)

    @property
    def _sign(self) -> int:
        return -1 if self.get("drive_mode") & REVERSE else 1

    def _present(self) -> int:
        """Position as the servo reports it: the offset added, within one turn unless the mode counts on."""
        mode, position, offset = self.get("mode"), self._sign * round(self.actual), self.get("homing_offset")
        if mode in (EXTENDED_POSITION, CURRENT_BASED_POSITION):
            return position + offset
        limit = self.model.largest_offset
        return position % self.model.counts_per_turn + max(-limit, min(limit, offset))

    def _publish(self) -> None:
        self._report("present_position", self._present())
        self._report("present_velocity", self._sign * self.velocity / VELOCITY_COUNT)
        self.memory[self.model["moving"].address] = abs(self.velocity) > VELOCITY_COUNT * self.get("moving_threshold")

    def _update_status(self) -> None:
        error = self.latched
        if not self.get("min_voltage") <= self.get("present_voltage") <= self.get("max_voltage"):
            error |= HardwareError.VOLTAGE
        if self.get("present_temperature") > self.get("max_temperature"):
            error |= HardwareError.OVERHEATING
        self.memory[self.model["status"].address] = error
