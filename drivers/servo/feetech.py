"""The Feetech STS/SMS packet format: bytes to packets and back, no I/O.

Instruction: `FF FF | id | n + 2 | instruction | n parameters | checksum`; status: the same with the error bits in place
of the instruction. The checksum is the complement of the sum of everything between header and checksum. Nothing is
escaped, so `FF FF` may occur inside a packet, and only header, id, length and checksum together make one.
Source: "Communication protocol manual" of the manufacturer (https://www.feetechrc.com).
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum, IntFlag

from drivers.servo.codec import Packet

HEADER = b"\xff\xff"
BROADCAST_ID = 0xFE
LONGEST_LENGTH = 250
"""Largest plausible value of the length byte."""
MOST_PARAMETERS = LONGEST_LENGTH - 2
OVERHEAD = 6
"""Bytes of a packet without parameters."""
PING_SIZE = 0
SCAN_S = 0.15
"""How long all servos together may take to answer a broadcast ping [s]."""


class Instruction(IntEnum):
    """What a servo can be asked."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


class ServoError(IntFlag):
    """Bits of the error byte of every status packet; they describe the servo, not the transfer."""

    VOLTAGE = 1
    SENSOR = 2
    TEMPERATURE = 4
    CURRENT = 8
    ANGLE = 16
    OVERLOAD = 32

    @property
    def words(self) -> str:
        """The bits in words, comma separated; unknown bits in hexadecimal."""
        names = [str(bit.name).lower() for bit in ServoError if bit in self]
        unknown = self.value & ~0x3F
        return ", ".join([*names, f"0x{unknown:02x}"] if unknown else names)

    @property
    def refusal(self) -> str:
        """Nothing: these servos do not say so when they refuse."""
        return ""

    @property
    def alert(self) -> bool:
        """The bits say all there is to say."""
        return False


def condition(code: int) -> ServoError:
    """Return what the error byte `code` says."""
    return ServoError(code)


def status_words(status: int) -> str:
    """Return the faults in the register `status` in words: they are those of the error byte."""
    return ServoError(status).words


def checksum(body: bytes) -> int:
    """Return the checksum of `body`: id, length, code and parameters."""
    return ~sum(body) & 0xFF


def encode(servo_id: int, code: int, data: bytes = b"") -> bytes:
    """Return the packet for `servo_id` with instruction or error byte `code`.

    Raises:
        ValueError: More parameters than one packet holds.
    """
    if len(data) > MOST_PARAMETERS:
        raise ValueError(f"a packet holds at most {MOST_PARAMETERS} parameters, not {len(data)}")
    body = bytes((servo_id, len(data) + 2, code)) + data
    return HEADER + body + bytes((checksum(body),))


def ping(servo_id: int = BROADCAST_ID) -> bytes:
    """Ask one servo, or all, to answer."""
    return encode(servo_id, Instruction.PING)


def read(servo_id: int, address: int, size: int) -> bytes:
    """Ask for `size` bytes from `address`."""
    return encode(servo_id, Instruction.READ, bytes((address, size)))


def write(servo_id: int, address: int, data: bytes) -> bytes:
    """Write `data` at `address`."""
    return encode(servo_id, Instruction.WRITE, bytes((address,)) + data)


def reboot(servo_id: int) -> bytes:
    """Nothing: these servos are restarted by their power alone."""
    return b""


def sync_read(servo_ids: Sequence[int], address: int, size: int) -> bytes:
    """Ask several servos for the same block; they answer one after the other in the order given."""
    return encode(BROADCAST_ID, Instruction.SYNC_READ, bytes((address, size, *servo_ids)))


def sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Write a block of equal size at `address` of several servos at once: servo id -> bytes; nobody answers."""
    (size,) = {len(block) for block in data.values()}
    blocks = b"".join(bytes((servo_id,)) + block for servo_id, block in data.items())
    return encode(BROADCAST_ID, Instruction.SYNC_WRITE, bytes((address, size)) + blocks)


def aligned_replies(received: bytes, servo_ids: Sequence[int], size: int) -> list[Packet] | None:
    """Take apart replies that came complete, clean and in order, the usual case, without searching.

    Returns:
        One packet per id, or None if `received` is anything else.
    """
    step = OVERHEAD + size
    if len(received) != step * len(servo_ids):
        return None
    packets = []
    for index, servo_id in enumerate(servo_ids):
        start = step * index
        body = received[start + 2 : start + step - 1]
        if not (
            received.startswith(HEADER, start)
            and body[0] == servo_id
            and body[1] == size + 2
            and ~sum(body) & 0xFF == received[start + step - 1]
        ):
            return None
        packets.append(Packet(servo_id, body[2], body[3:]))
    return packets


def ends_with_reply(received: bytes, servo_id: int, size: int) -> bool:
    """Return whether the last bytes are a reply of `size` bytes from `servo_id`."""
    return aligned_replies(received[-OVERHEAD - size :], (servo_id,), size) is not None


class Parser:
    """Finds packets in a stream of bytes that may be split anywhere and contain anything.

    `corrupt_ids` collects the ids of what looked like a packet but had a wrong checksum; `noise_bytes` counts the
    bytes that belonged to no packet.
    """

    def __init__(self, highest_id: int = BROADCAST_ID - 1) -> None:
        """Start empty; ids above `highest_id` are no packet (a status packet never carries the broadcast id)."""
        self._highest_id = highest_id
        self._buffer = bytearray()
        self.corrupt_ids: list[int] = []
        self.noise_bytes = 0

    def feed(self, data: bytes) -> list[Packet]:
        """Take more bytes; return the packets that they complete, in order."""
        self._buffer += data
        packets = []
        while (packet := self._next()) is not None:
            packets.append(packet)
        return packets

    def finish(self) -> list[Packet]:
        """Return packets hidden behind the beginning of one that never ended; call it when nothing more will come."""
        packets = []
        while self._buffer:
            self._skip(1)
            packets += self.feed(b"")
        return packets

    def _skip(self, count: int) -> None:
        del self._buffer[:count]
        self.noise_bytes += count

    def _next(self) -> Packet | None:
        while self._align():
            end = self._buffer[3] + 4
            if len(self._buffer) < end:
                return None
            body = bytes(self._buffer[2 : end - 1])
            if checksum(body) == self._buffer[end - 1]:
                del self._buffer[:end]
                return Packet(body[0], body[2], body[3:])
            self.corrupt_ids.append(body[0])
            self._skip(1)
        return None

    def _align(self) -> bool:
        """Drop what cannot begin a packet; return whether header, id and length are there."""
        buffer = self._buffer
        while len(buffer) >= 4:
            if buffer.startswith(HEADER) and buffer[2] <= self._highest_id and 2 <= buffer[3] <= LONGEST_LENGTH:
                return True
            following = buffer.find(0xFF, 1)
            self._skip(len(buffer) if following < 0 else following)
        return False


def status_parser() -> Parser:
    """Return a parser of what servos send."""
    return Parser()
