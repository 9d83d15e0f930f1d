"""What DYNAMIXEL servos report of themselves: the error byte of every status packet and the register `status`.

Source: "DYNAMIXEL Protocol 2.0" and the control tables of the X series (https://emanual.robotis.com).
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag


class Refusal(IntEnum):
    """Why a servo did not carry out an instruction: the lower seven bits of the error byte."""

    RESULT_FAIL = 1
    INSTRUCTION = 2
    CRC = 3
    DATA_RANGE = 4
    DATA_LENGTH = 5
    DATA_LIMIT = 6
    ACCESS = 7


ALERT = 0x80


class HardwareError(IntFlag):
    """Bits of the register `status`; each latches until the servo is rebooted."""

    VOLTAGE = 1
    HALL_SENSOR = 2
    OVERHEATING = 4
    ENCODER = 8
    ELECTRICAL_SHOCK = 16
    OVERLOAD = 32


@dataclass(frozen=True, slots=True)
class StatusError:
    """The error byte of a status packet."""

    code: int

    @property
    def alert(self) -> bool:
        """Whether the register `status` holds a hardware error; it says nothing against the data."""
        return bool(self.code & ALERT)

    @property
    def refusal(self) -> str:
        """Why the instruction was not carried out, empty if it was."""
        number = self.code & ~ALERT
        if not number:
            return ""
        if number > max(Refusal):
            return f"error {number}"
        return f"{Refusal(number).name.lower().replace('_', ' ')} error"

    @property
    def words(self) -> str:
        """All of it in words."""
        return ", ".join(word for word in ("hardware alert" * self.alert, self.refusal) if word)

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return self.code != 0


_CONDITIONS = [StatusError(code) for code in range(256)]


def condition(code: int) -> StatusError:
    """Return what the error byte `code` says."""
    return _CONDITIONS[code]


def status_words(status: int) -> str:
    """Return the hardware errors of the register `status` in words."""
    names = [str(bit.name).lower().replace("_", " ") for bit in HardwareError if status & bit]
    unknown = status & ~0x3F
    return ", ".join([*names, f"0x{unknown:02x}"] if unknown else names)
