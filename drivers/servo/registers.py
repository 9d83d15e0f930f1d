"""What a control table is made of: registers, and what else the driver must know of a type of servo."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from drivers.servo.codec import Codec, FastReads


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
    """1, 2 or 4 [bytes]."""
    area: Area = Area.RAM
    writable: bool = True
    default: int = 0
    unit: str = ""
    sign_bit: int | None = None
    """Bit that means "negative" in sign and magnitude; None for anything else."""
    signed: bool = False
    """Whether it is two's complement."""

    @property
    def limit(self) -> int:
        """Largest value that fits."""
        bits = 8 * self.size - self.signed if self.sign_bit is None else self.sign_bit
        return (1 << bits) - 1

    @property
    def lowest(self) -> int:
        """Smallest value that fits."""
        if self.signed:
            return -self.limit - 1
        return 0 if self.sign_bit is None else -self.limit

    def encode(self, value: int) -> bytes:
        """Return `value` as it goes over the wire.

        Raises:
            ValueError: It does not fit; nothing is ever cut off.
        """
        if not self.lowest <= value <= self.limit:
            raise ValueError(f"register {self.address} takes {self.lowest} to {self.limit}, not {value}")
        if self.signed:
            return value.to_bytes(self.size, "little", signed=True)
        word = value if value >= 0 else -value | 1 << (self.sign_bit or 0)
        return word.to_bytes(self.size, "little")

    def decode(self, data: bytes) -> int:
        """Return the value of `size` bytes from the wire."""
        word = int.from_bytes(data[: self.size], "little", signed=self.signed)
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
    codec: Codec
    """The family's packets."""
    default_baud: int
    """Speed as it comes from the factory."""
    position_modes: Mapping[int, bool]
    """Values of `mode` in which goals are positions -> whether the position may leave the turn."""
    latching: int
    """Bits of `status` that stay until the servo is restarted."""
    homing_sign: int
    """A servo reports its encoder plus this times its homing offset."""
    largest_offset: int
    """Largest magnitude of a homing offset that counts in every mode [count]."""
    refuses_beyond_limits: bool = False
    """Whether a goal outside `min_position_limit` to `max_position_limit` is refused instead of limited."""
    fast: FastReads | None = None
    """Reads with one common reply, None if the family has none."""
    fast_firmware: int = 0
    """First firmware that knows them."""
    current_unit: float | None = None
    """One count of current [A]; None if the servo does not measure it."""

    def __getitem__(self, name: str) -> Register:
        """Return the register called `name`."""
        return self.registers[name]

    def __contains__(self, name: str) -> bool:
        """Return whether there is a register called `name`."""
        return name in self.registers


def rom(address: int, size: int, default: int = 0, unit: str = "", sign_bit: int | None = None) -> Register:
    """Return a register that is kept over a power cycle."""
    return Register(address, size, Area.EEPROM, default=default, unit=unit, sign_bit=sign_bit)


def fixed(address: int, size: int, default: int = 0, unit: str = "") -> Register:
    """Return a constant of the servo."""
    return Register(address, size, Area.EEPROM, writable=False, default=default, unit=unit)


def ram(address: int, size: int, default: int = 0, unit: str = "", sign_bit: int | None = None) -> Register:
    """Return a register that is lost at power-off."""
    return Register(address, size, Area.RAM, default=default, unit=unit, sign_bit=sign_bit)


def measured(address: int, size: int, unit: str = "", sign_bit: int | None = None) -> Register:
    """Return what the servo reports."""
    return Register(address, size, Area.RAM, writable=False, unit=unit, sign_bit=sign_bit)
