"""Brings a stream of images back: rebuilds the index of every shard that was not published, from its records."""

import os
from pathlib import Path

import numpy as np

from recorder import shard
from recorder.metadata import FRAMES_PER_SHARD, IMAGE
from recorder.row_files import holds_rows, sync_rows, trim, write_rows
from recorder.shard import Record
from recorder.stream_files import StreamFolder, committed_rows


def repair_images(folder: StreamFolder) -> tuple[int, int, list[str]]:
    """Make shards, stamps and lengths agree with the records.

    Every frame carries its own checksum and stamps, so frames count wherever they are whole, up to the first that is
    not, committed or not.

    Returns:
        Number of frames, their size [byte], and what is lost in words.
    """
    committed = committed_rows(folder)
    if not all(holds_rows(folder.path / array.name, array, committed) for array in folder.arrays[:2]):
        committed = 0  # damage: the records have the stamps too
    size, losses = _published_bytes(folder, committed // FRAMES_PER_SHARD)
    rows = committed - committed % FRAMES_PER_SHARD
    while (path := _shard_path(folder, rows)).is_file():
        records = _rebuild(path, rows)
        _write_stamps(folder, rows, records)
        size += sum(record.length for record in records)
        rows += len(records)
        if not records or len(records) < FRAMES_PER_SHARD:
            break
    if rows < committed:
        losses.append(f"rows {rows} to {committed - 1}: their frames are damaged")
    elif abandoned := _drop_shards(folder, rows):
        losses.append(f"frames behind row {rows - 1}, in {abandoned} files that begin after a damaged frame")
    for array in folder.arrays[:2]:
        sync_rows(folder.path / array.name, array, min(committed, rows), rows)
        trim(folder.path / array.name, array, rows)
    return rows, size, losses


def _shard_path(folder: StreamFolder, row: int) -> Path:
    """The shard that holds a row."""
    return folder.arrays[-1].chunk_path(folder.path / IMAGE, row // FRAMES_PER_SHARD)


def _published_bytes(folder: StreamFolder, shards: int) -> tuple[int, list[str]]:
    """Payload of the shards that were published whole [byte], and which of them cannot be read."""
    size, losses = 0, []
    for number in range(shards):
        first = number * FRAMES_PER_SHARD
        entries = _published_index(_shard_path(folder, first), first)
        if entries is None:
            losses.append(f"rows {first} to {first + FRAMES_PER_SHARD - 1}: their shard is missing or damaged")
        else:
            size += sum(length for _, length in entries)
    return size, losses


def _published_index(path: Path, first: int) -> list[tuple[int, int]] | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        entries = shard.read_index(file.fileno())
        whole = entries or len(list(shard.scan(file, first))) == FRAMES_PER_SHARD
    if entries is None and whole:
        return [(record.offset, record.length) for record in _rebuild(path, first)]
    return entries


def _rebuild(path: Path, first: int) -> list[Record]:
    """Cut a shard behind its last whole record and give it an index, unless it is like that already."""
    with path.open("r+b") as file:
        records = list(shard.scan(file, first))
        end = records[-1].offset + records[-1].length if records else 0
        index = shard.pack_index([(record.offset, record.length) for record in records])
        file.seek(end)
        if records and file.read() != index:
            file.truncate(end)
            file.seek(end)
            file.write(index)
        file.flush()
        os.fdatasync(file.fileno())
    if not records:
        path.unlink()
    return records


def _write_stamps(folder: StreamFolder, first: int, records: list[Record]) -> None:
    columns = ([record.time_ns for record in records], [record.received_ns for record in records])
    for array, stamps in zip(folder.arrays[:2], columns, strict=True):
        write_rows(folder.path / array.name, array, first, np.array(stamps, dtype=np.int64))


def _drop_shards(folder: StreamFolder, rows: int) -> int:
    """Remove the shards that begin behind so many rows; give how many of them were more than made in advance."""
    dropped, first = 0, -(-rows // FRAMES_PER_SHARD) * FRAMES_PER_SHARD
    while (path := _shard_path(folder, first)).is_file():
        dropped += path.stat().st_size > 0
        path.unlink()
        first += FRAMES_PER_SHARD
    return dropped
