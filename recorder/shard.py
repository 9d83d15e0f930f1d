"""The shard files of frames: each behind self-describing headers, and the index that Zarr reads.

Format: Zarr v3 codec `sharding_indexed`, index at the end. The index gives offset and length of every inner chunk, so
bytes that it does not mention are skipped by any reader. We put a 40-byte header before each frame there, which is
what allows a shard without an index to be rebuilt. Header, little-endian: magic "FRM1", payload length (u32),
row in the stream (u64), time and received [ns] (i64), CRC-32C of the payload, CRC-32C of the header before it (u32).
"""

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from recorder.checksum import crc32c
from recorder.metadata import FRAMES_PER_SHARD

MAGIC = b"FRM1"
_FIELDS = struct.Struct("<4sIQqqI")
_CRC = struct.Struct("<I")
HEADER_BYTES = _FIELDS.size + _CRC.size
INDEX_BYTES = FRAMES_PER_SHARD * 16 + _CRC.size
ABSENT = 2**64 - 1
"""Offset and length of an inner chunk that a shard does not hold."""


@dataclass(frozen=True)
class Record:
    """One frame as its header describes it."""

    row: int
    time_ns: int
    received_ns: int
    offset: int
    """Of the payload in the shard file [byte]."""
    length: int
    """Of the payload [byte]."""
    crc: int


def pack_header(row: int, time_ns: int, received_ns: int, payload: bytes) -> bytes:
    """The header that goes before a frame."""
    fields = _FIELDS.pack(MAGIC, len(payload), row, time_ns, received_ns, crc32c(payload))
    return fields + _CRC.pack(crc32c(fields))


def parse_header(header: bytes, end: int) -> Record | None:
    """Read the header that ends at file offset `end`; None if it is torn, damaged or no header."""
    if len(header) != HEADER_BYTES or header[:4] != MAGIC:
        return None
    fields = header[: _FIELDS.size]
    if _CRC.unpack_from(header, _FIELDS.size)[0] != crc32c(fields):
        return None
    _, length, row, time_ns, received_ns, crc = _FIELDS.unpack(fields)
    return Record(row, time_ns, received_ns, end, length, crc)


def scan(file: BinaryIO, first_row: int) -> Iterator[Record]:
    """The whole frames from the start of a shard file, up to the first that is torn, damaged or out of turn.

    Args:
        file: The shard, opened in binary mode.
        first_row: Row of its first frame in the stream.
    """
    file.seek(0)
    for row in range(first_row, first_row + FRAMES_PER_SHARD):
        record = parse_header(file.read(HEADER_BYTES), file.tell())
        if record is None or record.row != row:
            return
        payload = file.read(record.length)
        if len(payload) != record.length or crc32c(payload) != record.crc:
            return
        yield record


def pack_index(entries: Sequence[tuple[int, int]]) -> bytes:
    """The index of a shard: (offset, length) of each frame, absent ones filled up, CRC-32C at the end."""
    table = np.full((FRAMES_PER_SHARD, 2), ABSENT, dtype="<u8")
    if entries:
        table[: len(entries)] = entries
    body = table.tobytes()
    return body + _CRC.pack(crc32c(body))


def parse_index(data: bytes) -> list[tuple[int, int]] | None:
    """(offset, length) of every frame that a shard may hold, absent ones as (ABSENT, ABSENT); None if damaged."""
    if len(data) != INDEX_BYTES or _CRC.unpack(data[-_CRC.size :])[0] != crc32c(data[: -_CRC.size]):
        return None
    table = np.frombuffer(data, dtype="<u8", count=2 * FRAMES_PER_SHARD).reshape(-1, 2)
    return [(int(offset), int(length)) for offset, length in table]


def read_index(descriptor: int) -> list[tuple[int, int]] | None:
    """The index at the end of an open shard file; None if it is missing or damaged."""
    size = os.fstat(descriptor).st_size
    if size < INDEX_BYTES:
        return None
    return parse_index(os.pread(descriptor, INDEX_BYTES, size - INDEX_BYTES))
