"""What every emulated servo has: a memory as its control table says, and a shaft with first-order mechanics."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

from drivers.servo.registers import Area, ServoModel

MEMORY_SIZE = 256
TIME_CONSTANT_S = 0.03
STEP_S = 0.001
MOST_STEPS = 1000


class EmulatedServo(ABC):
    """One servo; not thread-safe.

    `hand` moves the shaft while the torque is off: a function from seconds to actual steps. `blocked` stops the shaft.
    """

    def __init__(self, servo_id: int, model: ServoModel, actual: float = 2048.0) -> None:
        """Power up with factory settings and the shaft at `actual` [step]."""
        self.model = model
        self.actual = actual
        """Where the shaft is, before the homing offset, not wrapped [step]."""
        self.velocity = 0.0
        """[step/s]."""
        self.hand: Callable[[float], float] | None = None
        self.blocked = False
        self.latched = 0
        """Error bits that stay until the servo is restarted."""
        self._time_s: float | None = None
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
        self.latched, self.velocity, self._registered = 0, 0.0, None
        self.actual %= self.model.counts_per_turn
        self._wake()
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

    def latch(self, error: int) -> None:
        """Set error bits that stay until the servo is restarted."""
        self.latched |= error
        self._update_status()

    def read(self, address: int, size: int) -> bytes:
        """Return what a READ returns; beyond the memory there are zeros."""
        return bytes(self.memory[address : address + size]).ljust(size, b"\0")

    def register_write(self, address: int, data: bytes) -> None:
        """Keep a write for `act`."""
        self._registered = (address, data)
        self.set("write_pending", 1)

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

    def _approach(self, distance: float, top: float, acceleration: float, elapsed_s: float) -> float:
        """Move the shaft towards `distance` [step] away; `acceleration` 0 is unlimited. Return what is left of it."""
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
        return distance

    def _report(self, name: str, value: float) -> None:
        """Publish a measurement, within what its register holds."""
        register = self.model[name]
        self._poke(register.address, register.encode(max(register.lowest, min(register.limit, round(value)))))

    def _poke(self, address: int, data: bytes) -> None:
        self.memory[address : address + len(data)] = data

    @abstractmethod
    def _wake(self) -> None:
        """Do what this family does at power-up, after the memory was loaded."""

    @abstractmethod
    def _drive(self, elapsed_s: float) -> None:
        """Let the motor work."""

    @abstractmethod
    def _publish(self) -> None:
        """Put what is measured into the memory."""

    @abstractmethod
    def _update_status(self) -> None:
        """Put what is wrong into the memory."""
