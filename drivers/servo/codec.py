"""What the bus must know of a servo family's packets: the seam between `ServoBus` and the protocols.

The modules `feetech` and `dynamixel` are the two `Codec`s.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet whose checksum was right."""

    id: int
    code: int
    """The instruction, or a status packet's error byte."""
    data: bytes


class Condition(Protocol):
    """What a status packet's error byte says; false if it says nothing."""

    @property
    def words(self) -> str:
        """All of it in words, comma separated."""
        ...

    @property
    def refusal(self) -> str:
        """Why the instruction was not carried out; empty if it was, whatever else ails the servo."""
        ...

    @property
    def alert(self) -> bool:
        """Whether only the servo's register `status` says what ails it."""
        ...

    def __bool__(self) -> bool:
        """Whether it says anything."""
        ...


@dataclass(frozen=True, slots=True)
class _Nothing:
    words: str = ""
    refusal: str = ""
    alert: bool = False

    def __bool__(self) -> bool:
        return False


NO_CONDITION: Condition = _Nothing()
"""Nothing was said."""


class Parser(Protocol):
    """Finds packets in a stream of bytes that may be split anywhere and contain anything."""

    corrupt_ids: list[int]
    """Ids of what looked like a packet but had a wrong checksum."""
    noise_bytes: int
    """Bytes that belonged to no packet."""

    def feed(self, data: bytes) -> list[Packet]:
        """Take more bytes; return the packets that they complete, in order."""
        ...

    def finish(self) -> list[Packet]:
        """Return packets hidden behind the beginning of one that never ended; call it when nothing more will come."""
        ...


class FastReads(Protocol):
    """One common reply of all servos to one request."""

    def fast_sync_read(self, servo_ids: Sequence[int], address: int, size: int) -> bytes:
        """Ask several servos for the same block, to be answered in one packet."""
        ...

    def fast_size(self, sizes: Iterable[int]) -> int:
        """Return how long the common reply with blocks of `sizes` is [bytes]."""
        ...

    def fast_replies(self, received: bytes, sizes: Mapping[int, int]) -> list[Packet]:
        """Return the blocks of a common reply that came whole, in order; `sizes`: servo id -> length asked."""
        ...


class Codec(Protocol):
    """One family's packets; pure functions."""

    OVERHEAD: int
    """Bytes of a status packet without data."""
    PING_SIZE: int
    """Bytes of data in the answer to a ping."""
    SCAN_S: float
    """How long all servos together may take to answer a broadcast ping [s]."""

    def ping(self, servo_id: int = ...) -> bytes:
        """Ask one servo, or all, to answer."""
        ...

    def read(self, servo_id: int, address: int, size: int) -> bytes:
        """Ask for `size` bytes from `address`."""
        ...

    def write(self, servo_id: int, address: int, data: bytes) -> bytes:
        """Write `data` at `address`."""
        ...

    def reboot(self, servo_id: int) -> bytes:
        """Restart a servo; empty if the family cannot."""
        ...

    def sync_read(self, servo_ids: Sequence[int], address: int, size: int) -> bytes:
        """Ask several servos for the same block; they answer one after the other in the order given."""
        ...

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> bytes:
        """Write a block of equal size at `address` of several servos at once: servo id -> bytes; nobody answers."""
        ...

    def aligned_replies(self, received: bytes, servo_ids: Sequence[int], size: int) -> list[Packet] | None:
        """Take apart replies that came complete, clean and in order; None if `received` is anything else."""
        ...

    def ends_with_reply(self, received: bytes, servo_id: int, size: int) -> bool:
        """Return whether the last bytes are a reply of `size` bytes from `servo_id`."""
        ...

    def status_parser(self) -> Parser:
        """Return a parser of what servos send."""
        ...

    def condition(self, code: int) -> Condition:
        """Return what the error byte `code` says."""
        ...

    def status_words(self, status: int) -> str:
        """Return the faults in the register `status` in words, comma separated."""
        ...
