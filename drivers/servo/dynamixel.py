"""The DYNAMIXEL Protocol 2.0 as a `Codec`: requests out, replies in, no I/O. How packets are made: `dynamixel_packet`.

Source: "DYNAMIXEL Protocol 2.0" (https://emanual.robotis.com/docs/en/dxl/protocol2/).
"""

from collections.abc import Iterable, Mapping, Sequence

from drivers.servo.codec import Packet
from drivers.servo.dynamixel_errors import condition as condition
from drivers.servo.dynamixel_errors import status_words as status_words
from drivers.servo.dynamixel_packet import (
    BROADCAST_ID,
    HEADER,
    PREFIX,
    SENSITIVE,
    Instruction,
    Parser,
    crc,
    encode,
    words,
)

OVERHEAD = 11
"""Bytes of a status packet without data."""
PING_SIZE = 3
"""Model number and firmware."""
SCAN_S = 0.8
"""252 ids of about 3 ms each [s]."""
FAST_OVERHEAD = 4
"""Error, id and CRC of one servo in a common reply."""


def status(servo_id: int, error: int = 0, data: bytes = b"") -> bytes:
    """Return the status packet of `servo_id`."""
    return encode(servo_id, Instruction.STATUS, bytes((error,)) + data)


def ping(servo_id: int = BROADCAST_ID) -> bytes:
    """Ask one servo, or all, for model number and firmware."""
    return encode(servo_id, Instruction.PING)


def read(servo_id: int, address: int, size: int) -> bytes:
    """Ask for `size` bytes from `address`."""
    return encode(servo_id, Instruction.READ, words(address, size))


def write(servo_id: int, address: int, data: bytes) -> bytes:
    """Write `data` at `address`."""
    return encode(servo_id, Instruction.WRITE, words(address) + data)


def reg_write(servo_id: int, address: int, data: bytes) -> bytes:
    """Keep a write of `data` at `address` for `action`."""
    return encode(servo_id, Instruction.REG_WRITE, words(address) + data)


def action(servo_id: int = BROADCAST_ID) -> bytes:
    """Carry out what `reg_write` kept."""
    return encode(servo_id, Instruction.ACTION)


def reboot(servo_id: int) -> bytes:
    """Restart a servo, which clears its latched errors and switches its torque off."""
    return encode(servo_id, Instruction.REBOOT)


def sync_read(servo_ids: Sequence[int], address: int, size: int) -> bytes:
    """Ask several servos for the same block; they answer one after the other in the order given."""
    return encode(BROADCAST_ID, Instruction.SYNC_READ, words(address, size) + bytes(servo_ids))


def fast_sync_read(servo_ids: Sequence[int], address: int, size: int) -> bytes:
    """Ask several servos for the same block, to be answered in one packet."""
    return encode(BROADCAST_ID, Instruction.FAST_SYNC_READ, words(address, size) + bytes(servo_ids))


def sync_write(address: int, data: Mapping[int, bytes]) -> bytes:
    """Write a block of equal size at `address` of several servos at once: servo id -> bytes; nobody answers."""
    (size,) = {len(block) for block in data.values()}
    blocks = b"".join(bytes((servo_id,)) + block for servo_id, block in data.items())
    return encode(BROADCAST_ID, Instruction.SYNC_WRITE, words(address, size) + blocks)


def bulk_read(blocks: Mapping[int, tuple[int, int]], *, fast: bool = False) -> bytes:
    """Ask several servos for a block each: servo id -> address and size; `fast` for one common answer."""
    instruction = Instruction.FAST_BULK_READ if fast else Instruction.BULK_READ
    return encode(BROADCAST_ID, instruction, b"".join(bytes((i,)) + words(*block) for i, block in blocks.items()))


def bulk_write(blocks: Mapping[int, tuple[int, bytes]]) -> bytes:
    """Write a block of each of several servos at once: servo id -> address and bytes; nobody answers."""
    parts = (bytes((i,)) + words(address, len(data)) + data for i, (address, data) in blocks.items())
    return encode(BROADCAST_ID, Instruction.BULK_WRITE, b"".join(parts))


def aligned_replies(received: bytes, servo_ids: Sequence[int], size: int) -> list[Packet] | None:
    """Take apart replies that came complete, clean, unstuffed and in order, the usual case, without searching.

    Returns:
        One packet per id, or None if `received` is anything else.
    """
    step = OVERHEAD + size
    if len(received) != step * len(servo_ids):
        return None
    packets = []
    for index, servo_id in enumerate(servo_ids):
        packet = received[step * index : step * (index + 1)]
        if not (
            packet.startswith(HEADER)
            and packet[4] == servo_id
            and packet[5] | packet[6] << 8 == size + 4
            and packet[7] == Instruction.STATUS
            and SENSITIVE not in packet[8:-2]  # such a packet holds less than its length says
            and crc(packet[:-2]) == packet[-2] | packet[-1] << 8
        ):
            return None
        packets.append(Packet(servo_id, packet[8], packet[9:-2]))
    return packets


def ends_with_reply(received: bytes, servo_id: int, size: int) -> bool:
    """Return whether the last bytes are a reply of `size` bytes from `servo_id`."""
    start = received.rfind(HEADER + bytes((servo_id,)))
    if start < 0 or len(received) - start < OVERHEAD + size:
        return False
    packets = Parser().feed(received[start:])
    return [(packet.id, len(packet.data)) for packet in packets] == [(servo_id, size)]


def fast_size(sizes: Iterable[int]) -> int:
    """Return how long the common reply with blocks of `sizes` is [bytes]."""
    return PREFIX + 1 + sum(size + FAST_OVERHEAD for size in sizes)


def fast_status(blocks: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return the common reply to a fast read: servo id, error and data of each servo in the order asked."""
    blocks = list(blocks)
    length = fast_size(len(data) for _, _, data in blocks) - PREFIX
    packet = HEADER + bytes((BROADCAST_ID,)) + words(length) + bytes((Instruction.STATUS,))
    for servo_id, error, data in blocks:
        packet += bytes((error, servo_id)) + data
        packet += words(crc(packet))
    return packet


def fast_replies(received: bytes, sizes: Mapping[int, int]) -> list[Packet]:
    """Take apart a common reply, wherever it begins in `received`.

    Args:
        received: What has come.
        sizes: Servo id -> length asked, in the order asked.

    Returns:
        The blocks up to the first that is missing or damaged; each is vouched for by its own CRC.
    """
    length = fast_size(sizes.values()) - PREFIX
    beginning = HEADER + bytes((BROADCAST_ID,)) + words(length) + bytes((Instruction.STATUS,))
    start = received.find(beginning)
    packets: list[Packet] = []
    if start < 0:
        return packets
    position, running = start + len(beginning), crc(beginning)
    for servo_id, size in sizes.items():
        end = position + size + FAST_OVERHEAD
        block = received[position:end]
        running = crc(block[:-2], running)
        if len(block) < size + FAST_OVERHEAD or block[1] != servo_id or running != block[-2] | block[-1] << 8:
            break
        packets.append(Packet(servo_id, block[0], block[2:-2]))
        position, running = end, crc(block[-2:], running)
    return packets


def status_parser() -> Parser:
    """Return a parser of what servos send."""
    return Parser()
