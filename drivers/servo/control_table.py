"""What is at which address in a servo: tables, one per model.

Register names, sizes, units and defaults are those of the STS3215 memory table of the manufacturer's manual
(https://www.feetechrc.com, STS series), with the sign bits that the published SDKs use.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from drivers.errors import DeviceConfigError


class Area(StrEnum):
    """Where a register lives."""

    EEPROM = "eeprom"
    """Kept over a power cycle if it was written while `lock` was 0."""
    RAM = "ram"
    """Lost at power-off."""


@dataclass(frozen=True, slots=True)
class Register:
    """One value in a servo's memory, little endian."""

    address: int
    size: int
    """1 or 2 [bytes]."""
    area: Area = Area.RAM
    writable: bool = True
    default: int = 0
    unit: str = ""
    sign_bit: int | None = None
    """Bit that means "negative" (sign and magnitude, not two's complement); None for an unsigned value."""

    @property
    def limit(self) -> int:
        """Largest magnitude that fits."""
        return (1 << (8 * self.size if self.sign_bit is None else self.sign_bit)) - 1

    def encode(self, value: int) -> bytes:
        """Return `value` as it goes over the wire.

        Raises:
            ValueError: It does not fit; nothing is ever cut off.
        """
        lowest = 0 if self.sign_bit is None else -self.limit
        if not lowest <= value <= self.limit:
            raise ValueError(f"register {self.address} takes {lowest} to {self.limit}, not {value}")
        word = value if value >= 0 else -value | 1 << (self.sign_bit or 0)
        return word.to_bytes(self.size, "little")

    def decode(self, data: bytes) -> int:
        """Return the value of `size` bytes from the wire."""
        word = int.from_bytes(data[: self.size], "little")
        if self.sign_bit is None or not word >> self.sign_bit & 1:
            return word
        return -(word & (1 << self.sign_bit) - 1)


@dataclass(frozen=True, slots=True)
class ServoModel:
    """What the driver must know of one type of servo."""

    name: str
    numbers: Mapping[int, str]
    """Model numbers that this table fits -> their names."""
    registers: Mapping[str, Register]
    counts_per_turn: int
    velocity_unit: float
    """One count of velocity [rad/s]."""
    return_delay_unit_s: float

    def __getitem__(self, name: str) -> Register:
        """Return the register called `name`."""
        return self.registers[name]


def _rom(address: int, size: int, default: int = 0, unit: str = "", sign_bit: int | None = None) -> Register:
    return Register(address, size, Area.EEPROM, default=default, unit=unit, sign_bit=sign_bit)


def _fixed(address: int, size: int, default: int = 0, unit: str = "") -> Register:
    return Register(address, size, Area.EEPROM, writable=False, default=default, unit=unit)


def _ram(address: int, size: int, default: int = 0, unit: str = "", sign_bit: int | None = None) -> Register:
    return Register(address, size, Area.RAM, default=default, unit=unit, sign_bit=sign_bit)


def _measured(address: int, size: int, unit: str = "", sign_bit: int | None = None) -> Register:
    return Register(address, size, Area.RAM, writable=False, unit=unit, sign_bit=sign_bit)


STS3215 = ServoModel(
    name="sts3215",
    numbers=MappingProxyType({777: "STS3215", 2825: "STS3250"}),
    counts_per_turn=4096,
    velocity_unit=2 * math.pi / 4096,
    return_delay_unit_s=2e-6,
    registers=MappingProxyType(
        {
            "firmware_major": _fixed(0, 1, 3),
            "firmware_minor": _fixed(1, 1, 10),
            "end": _fixed(2, 1),
            "model_number": _fixed(3, 2, 777),
            "id": _rom(5, 1, 1),
            "baud_rate": _rom(6, 1),
            "return_delay": _rom(7, 1, 0, "2 us"),
            "response_level": _rom(8, 1, 1),
            "min_position_limit": _rom(9, 2, 0, "step"),
            "max_position_limit": _rom(11, 2, 4095, "step"),
            "max_temperature": _rom(13, 1, 70, "degC"),
            "max_voltage": _rom(14, 1, 80, "0.1 V"),
            "min_voltage": _rom(15, 1, 40, "0.1 V"),
            "max_torque": _rom(16, 2, 1000, "0.1 %"),
            "phase": _rom(18, 1, 12),
            "unloading_conditions": _rom(19, 1, 44),
            "led_alarm": _rom(20, 1, 47),
            "position_p": _rom(21, 1, 32),
            "position_d": _rom(22, 1, 32),
            "position_i": _rom(23, 1),
            "min_start_force": _rom(24, 2, 16, "0.1 %"),
            "cw_dead_zone": _rom(26, 1, 1, "step"),
            "ccw_dead_zone": _rom(27, 1, 1, "step"),
            "protection_current": _rom(28, 2, 500, "6.5 mA"),
            "angular_resolution": _rom(30, 1, 1),
            "homing_offset": _rom(31, 2, 0, "step", sign_bit=11),
            "mode": _rom(33, 1),
            "protective_torque": _rom(34, 1, 20, "%"),
            "protection_time": _rom(35, 1, 200, "10 ms"),
            "overload_torque": _rom(36, 1, 80, "%"),
            "velocity_p": _rom(37, 1, 10),
            "over_current_time": _rom(38, 1, 200, "10 ms"),
            "velocity_i": _rom(39, 1, 10),
            "torque_enable": _ram(40, 1),
            "acceleration": _ram(41, 1, 0, "100 step/s^2"),
            "goal_position": _ram(42, 2, 0, "step", sign_bit=15),
            "goal_time": _ram(44, 2, 0, "0.1 %", sign_bit=10),
            "goal_velocity": _ram(46, 2, 0, "step/s", sign_bit=15),
            "torque_limit": _ram(48, 2, 1000, "0.1 %"),
            "lock": _ram(55, 1, 1),
            "present_position": _measured(56, 2, "step", sign_bit=15),
            "present_velocity": _measured(58, 2, "step/s", sign_bit=15),
            "present_load": _measured(60, 2, "0.1 %", sign_bit=10),
            "present_voltage": _measured(62, 1, "0.1 V"),
            "present_temperature": _measured(63, 1, "degC"),
            "write_pending": _measured(64, 1),
            "status": _measured(65, 1),
            "moving": _measured(66, 1),
            "present_current": _measured(69, 2, "6.5 mA", sign_bit=15),
            "goal_position_echo": _measured(71, 2, "step", sign_bit=15),
            "moving_threshold": _ram(80, 1, 1, "step/s"),
            "dts": _ram(81, 1, 1, "ms"),
            "velocity_unit_factor": _ram(82, 1, 1),
            "hts": _ram(83, 1),
            "max_velocity": _ram(84, 1, 68, "50 step/s"),
            "max_acceleration": _ram(85, 1, 254, "100 step/s^2"),
            "acceleration_multiplier": _ram(86, 1, 1),
        }
    ),
)

MODELS: Mapping[str, ServoModel] = MappingProxyType({STS3215.name: STS3215})
"""Configuration's `model` -> table."""


def model_called(name: str) -> ServoModel:
    """Return the table of the model called `name`.

    Raises:
        DeviceConfigError: No such table.
    """
    if name not in MODELS:
        raise DeviceConfigError(f"there is no control table for servo model {name}; known are {', '.join(MODELS)}")
    return MODELS[name]
