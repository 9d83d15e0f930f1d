"""The DYNAMIXEL Protocol 2.0 packet format: bytes to packets and back, no I/O.

Instruction: `FF FF FD 00 | id | length, 2 bytes | instruction | parameters | CRC, 2 bytes`; status: instruction 0x55,
then the error byte, then the data. `length` counts what follows it. So that no header occurs inside, an `FD` is put
after each `FF FF FD` from instruction to last parameter; length and CRC are those of the stuffed bytes. The common
reply to a fast read is the exception: it comes from id 0xFE and is not stuffed.
Source: "DYNAMIXEL Protocol 2.0" (https://emanual.robotis.com/docs/en/dxl/protocol2/).
"""

from enum import IntEnum

from drivers.servo.codec import Packet

HEADER = b"\xff\xff\xfd\x00"
BROADCAST_ID = 0xFE
LONGEST_LENGTH = 1024
"""Largest plausible value of the length field."""
PREFIX = 7
"""Bytes from header to length."""
SENSITIVE, STUFFED = b"\xff\xff\xfd", b"\xff\xff\xfd\xfd"
POLYNOMIAL = 0x8005


class Instruction(IntEnum):
    """What a servo can be asked, and `STATUS`, which is its answer."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    FACTORY_RESET = 0x06
    REBOOT = 0x08
    CLEAR = 0x10
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A
    BULK_READ = 0x92
    BULK_WRITE = 0x93
    FAST_BULK_READ = 0x9A


def _table() -> tuple[int, ...]:
    def entry(register: int) -> int:
        for _ in range(8):
            register = register << 1 ^ (POLYNOMIAL if register & 0x8000 else 0)
        return register & 0xFFFF

    return tuple(entry(high << 8) for high in range(256))


_CRC_TABLE = _table()


def crc(data: bytes, start: int = 0) -> int:
    """Return the CRC-16 of `data`: polynomial 0x8005, most significant bit first; `start` continues an earlier one."""
    for byte in data:
        start = start << 8 & 0xFF00 ^ _CRC_TABLE[start >> 8 ^ byte]
    return start


def stuff(body: bytes) -> bytes:
    """Make `body`, instruction to last parameter, free of headers."""
    return body.replace(SENSITIVE, STUFFED)


def unstuff(body: bytes) -> bytes:
    """Undo `stuff`."""
    return body.replace(STUFFED, SENSITIVE)


def _wrap(packet_id: int, body: bytes) -> bytes:
    """Return the packet with `body` as it is."""
    length = len(body) + 2
    if length > LONGEST_LENGTH:
        raise ValueError(f"a packet holds at most {LONGEST_LENGTH - 2} bytes, not {length - 2}")
    packet = HEADER + bytes((packet_id,)) + length.to_bytes(2, "little") + body
    return packet + crc(packet).to_bytes(2, "little")


def encode(servo_id: int, instruction: int, parameters: bytes = b"") -> bytes:
    """Return the instruction packet for `servo_id`.

    Raises:
        ValueError: More than one packet holds.
    """
    return _wrap(servo_id, stuff(bytes((instruction,)) + parameters))


def words(*values: int) -> bytes:
    """Return 16-bit `values`, little endian."""
    return b"".join(value.to_bytes(2, "little") for value in values)


class Parser:
    """Finds packets in a stream of bytes that may be split anywhere and contain anything.

    A common reply to a fast read comes out as one packet of id 0xFE, not taken apart.
    """

    def __init__(self, *, instructions: bool = False) -> None:
        """Start empty; `instructions` finds what a host sends instead of what servos send."""
        self._instructions = instructions
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
            end = PREFIX + (self._buffer[5] | self._buffer[6] << 8)
            if len(self._buffer) < end:
                return None
            packet = bytes(self._buffer[:end])
            if crc(packet[:-2]) != packet[-2] | packet[-1] << 8:
                self.corrupt_ids.append(packet[4])
                self._skip(1)
            elif self._instructions == (packet[7] == Instruction.STATUS):
                self._skip(end)  # sound, but sent by the other side
            else:
                del self._buffer[:end]
                return self._unwrap(packet)
        return None

    def _unwrap(self, packet: bytes) -> Packet:
        if self._instructions:
            body = unstuff(packet[7:-2])
            return Packet(packet[4], body[0], body[1:])
        body = packet[8:-2] if packet[4] == BROADCAST_ID else unstuff(packet[7:-2])[1:]
        return Packet(packet[4], body[0], body[1:])

    def _align(self) -> bool:
        """Drop what cannot begin a packet; return whether header, id and length are there."""
        buffer = self._buffer
        shortest = 3 if self._instructions else 4
        while len(buffer) > PREFIX:
            length = buffer[5] | buffer[6] << 8
            if buffer.startswith(HEADER) and buffer[4] <= BROADCAST_ID and shortest <= length <= LONGEST_LENGTH:
                return True
            following = buffer.find(0xFF, 1)
            self._skip(len(buffer) if following < 0 else following)
        return False
