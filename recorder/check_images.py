"""Verification of images: every shard's file and index, and every frame's header and checksum."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recorder import jpeg, layout, metadata, shard
from recorder.checksum import crc32c
from recorder.findings import Finding, Subject, runs
from recorder.metadata import FRAMES_PER_SHARD, IMAGE
from recorder.row_files import lost_chunks, read_rows

Stamps = tuple[NDArray[np.int64], NDArray[np.int64]]


def check_images(subject: Subject, rows: int) -> list[Finding]:
    """Check all frames of a stream, by reading every one of them."""
    arrays = metadata.array_layouts(subject.spec)[:2]
    stamps: Stamps | None = None
    if not any(lost_chunks(subject.path / array.name, array, rows) for array in arrays):
        time, received = (read_rows(subject.path / array.name, array, 0, rows) for array in arrays)
        stamps = time, received
    findings = []
    for first in range(0, rows, FRAMES_PER_SHARD):
        span = (first, min(rows, first + FRAMES_PER_SHARD))
        path = layout.chunk_path(subject.path / IMAGE, first // FRAMES_PER_SHARD, 4)
        findings += _check_shard(subject, path, span, stamps)
    return findings


def _check_shard(subject: Subject, path: Path, span: tuple[int, int], stamps: Stamps | None) -> list[Finding]:
    name = path.relative_to(subject.path)
    if not path.is_file():
        return [subject.error(f"{name} is missing", IMAGE, span)]
    with path.open("rb") as file:
        entries = shard.read_index(file.fileno())
        if entries is None:
            return [subject.error(f"{name} is truncated or its index is damaged", IMAGE, span)]
        wrong: dict[str, list[int]] = {}
        for row, problem in _frame_problems(file.fileno(), entries, span, stamps):
            wrong.setdefault(problem, []).append(row)
    return [subject.error(problem, IMAGE, run) for problem, bad in wrong.items() for run in runs(bad)]


def _frame_problems(
    descriptor: int, entries: list[tuple[int, int]], span: tuple[int, int], stamps: Stamps | None
) -> Iterator[tuple[int, str]]:
    for row in range(*span):
        offset, length = entries[row - span[0]]
        problem = _frame_problem(descriptor, (offset, length), row, stamps)
        if problem:
            yield row, problem


def _frame_problem(descriptor: int, entry: tuple[int, int], row: int, stamps: Stamps | None) -> str:
    offset, length = entry
    if offset == shard.ABSENT:
        return "the index has no such frame"
    if offset < shard.HEADER_BYTES or offset + length + shard.INDEX_BYTES > os.fstat(descriptor).st_size:
        return "the index points outside of the frames"
    data = os.pread(descriptor, shard.HEADER_BYTES + length, offset - shard.HEADER_BYTES)
    record = shard.parse_header(data[: shard.HEADER_BYTES], offset)
    payload = data[shard.HEADER_BYTES :]
    if record is None or (record.row, record.length) != (row, length):
        return "the index does not point to its record"
    if crc32c(payload) != record.crc or payload[:2] != jpeg.SOI:
        return "the frame is not what was written (checksum differs)"
    if stamps is not None and (record.time_ns, record.received_ns) != (stamps[0][row], stamps[1][row]):
        return "its stamps differ from those of its record"
    return ""
