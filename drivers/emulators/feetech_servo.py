"""The firmware and the mechanics of one emulated STS3215.

Memory is the same table that the driver uses. The mechanics are first order: the output shaft approaches its goal with
a time constant, within the goal velocity, the acceleration and the torque limit. A blocked shaft builds up load until
the overload protection latches, as in the device, until the power is cycled.
"""

import math
from collections.abc import Callable

from drivers.servo.feetech import ServoError
from drivers.servo.feetech_table import STS3215
from drivers.servo.registers import Area, ServoModel

MEMORY_SIZE = 256
CENTRE_HERE = 128
"""Written to `torque_enable`: make the present position the middle."""
TIME_CONSTANT_S = 0.03
TOP_SPEED = 3400.0
"""[step/s] at full torque."""
STEP_S = 0.001
MOST_STEPS = 1000
ACCELERATION_UNIT = 100.0
"""[step/s^2]."""
MULTI_TURN_FEEDBACK = 1 << 4
"""Bit of `phase`."""


class EmulatedServo:
    """One servo; not thread-safe.

    `hand` moves the shaft while the torque is off: a function from seconds to actual steps. `blocked` stops the shaft.
    """

    def __init__(self, servo_id: int, actual: float = 2048.0, model: ServoModel = STS3215) -> None:
        """Power up with factory settings and the shaft at `actual` [step]."""
        self.model = model
        self.actual = actual
        """Where the shaft is, before the homing offset, not wrapped [step]."""
        self.velocity = 0.0
        """[step/s]."""
        self.hand: Callable[[float], float] | None = None
        self.blocked = False
        self.latched = ServoError(0)
        """Errors that stay in every reply until the power is cycled."""
        self._time_s: float | None = None
        self._overload_s = 0.0
        self._registered: tuple[int, bytes] | None = None
        self._kept = bytearray(MEMORY_SIZE)
        for register in model.registers.values():
            if register.area is Area.EEPROM:
                self._kept[register.address : register.address + register.size] = register.encode(register.default)
        self._kept[model["id"].address] = servo_id
        self._writable = frozenset(
            address
            for register in model.registers.values()
            if register.writable
            for address in range(register.address, register.address + register.size)
        )
        self._eeprom_end = min(r.address for r in model.registers.values() if r.area is Area.RAM)
        self.memory = bytearray(MEMORY_SIZE)
        self.power_cycle()

    def power_cycle(self) -> None:
        """Lose RAM, latched errors and the turn count; reload what EEPROM kept."""
        self.memory[:] = self._kept
        for register in self.model.registers.values():
            if register.area is Area.RAM and register.writable:
                self._poke(register.address, register.encode(register.default))
        self.set("torque_limit", self.get("max_torque"))
        self.latched, self._overload_s, self.velocity, self._registered = ServoError(0), 0.0, 0.0, None
        self.actual %= self.model.counts_per_turn
        self.set("present_voltage", 74)
        self.set("present_temperature", 30)
        self._publish()

    def get(self, name: str) -> int:
        """Return a register's value."""
        register = self.model[name]
        return register.decode(bytes(self.memory[register.address : register.address + register.size]))

    def set(self, name: str, value: int) -> None:
        """Set a register from inside the firmware: no protection applies."""
        register = self.model[name]
        self._poke(register.address, register.encode(value))
        self._update_status()

    @property
    def servo_id(self) -> int:
        """The id it answers to."""
        return self.memory[self.model["id"].address]

    @property
    def error(self) -> ServoError:
        """The error byte of its replies."""
        return ServoError(self.memory[self.model["status"].address])

    def latch(self, error: ServoError) -> None:
        """Set error bits that stay until the power is cycled."""
        self.latched |= error
        self._update_status()

    def read(self, address: int, size: int) -> bytes:
        """Return what a READ returns; beyond the memory there are zeros."""
        return bytes(self.memory[address : address + size]).ljust(size, b"\0")

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

    def register_write(self, address: int, data: bytes) -> None:
        """Keep a write for `act`."""
        self._registered = (address, data)
        self.set("write_pending", 1)

    def act(self) -> None:
        """Carry out the registered write, if any."""
        if self._registered is not None:
            self.write(*self._registered)
        self._registered = None
        self.set("write_pending", 0)

    def advance(self, time_s: float) -> None:
        """Let the mechanics run until `time_s`, in steps of the firmware's own loop."""
        elapsed_s = 0.0 if self._time_s is None else time_s - self._time_s
        if self._time_s is not None and elapsed_s < STEP_S:
            return
        self._time_s = time_s
        if self.get("torque_enable") == 1:
            self._drive(elapsed_s)
        else:
            self._give_way(elapsed_s, time_s)
        self._publish()

    def _give_way(self, elapsed_s: float, time_s: float) -> None:
        """Without torque the shaft is wherever the hand holds it."""
        target = self.actual if self.hand is None or self.blocked else self.hand(time_s)
        self.velocity = (target - self.actual) / elapsed_s if elapsed_s else 0.0
        self.actual = target
        self._overload_s = 0.0

    def _drive(self, elapsed_s: float) -> None:
        strength = self._strength()
        distance = float(self.get("goal_position") - self._present())
        top = min(abs(self.get("goal_velocity")) or TOP_SPEED, TOP_SPEED * strength)
        acceleration = self.get("acceleration") * ACCELERATION_UNIT
        steps = min(math.ceil(elapsed_s / STEP_S), MOST_STEPS)
        step_s = elapsed_s / max(steps, 1)
        if self.blocked:
            steps, self.velocity = 0, 0.0
        for _ in range(steps):
            wanted = max(-top, min(top, distance / TIME_CONSTANT_S))
            ramp = acceleration * step_s or math.inf
            self.velocity = max(self.velocity - ramp, min(self.velocity + ramp, wanted))
            self.actual += self.velocity * step_s
            distance -= self.velocity * step_s
        self._protect(distance, strength, elapsed_s)

    def _strength(self) -> float:
        """Share of full torque available."""
        if ServoError.OVERLOAD in self.latched:
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
        position, velocity = self.model["present_position"], self.model["present_velocity"]
        for register, value in ((position, self._present()), (velocity, round(self.velocity))):
            self._poke(register.address, register.encode(max(-register.limit, min(register.limit, value))))
        echo, goal = self.model["goal_position_echo"], self.model["goal_position"]
        self._poke(echo.address, self.read(goal.address, goal.size))
        self.memory[self.model["moving"].address] = abs(self.velocity) > self.get("moving_threshold")

    def _update_status(self) -> None:
        error = self.latched.value
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

    def _poke(self, address: int, data: bytes) -> None:
        self.memory[address : address + len(data)] = data
