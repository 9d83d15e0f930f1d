"""Verification of images: every shard's file and index, and every frame's header and checksum."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recorder import metadata, shard
from recorder.checksum import crc32c
from recorder.encodings import encoding_of
from recorder.findings import Finding, Subject, runs
from recorder.metadata import FRAMES_PER_SHARD, IMAGE
from recorder.row_files import lost_chunks, read_rows
from recorder.streams import ImageStreamSpec

Stamps = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class _Shard:
    """One opened shard file, with what its frames must agree with."""

    descriptor: int
    spec: ImageStreamSpec
    first_row: int
    entries: list[tuple[int, int]]
    stamps: Stamps | None

    def problem(self, row: int) -> str:
        """What is wrong with a frame; empty if nothing."""
        offset, length = self.entries[row - self.first_row]
        if offset == shard.ABSENT:
            return "the index has no such frame"
        end = os.fstat(self.descriptor).st_size - shard.INDEX_BYTES
        if offset < shard.HEADER_BYTES or offset + length > end:
            return "the index points outside of the frames"
        data = os.pread(self.descriptor, shard.HEADER_BYTES + length, offset - shard.HEADER_BYTES)
        record, payload = shard.parse_header(data[: shard.HEADER_BYTES], offset), data[shard.HEADER_BYTES :]
        if record is None or (record.row, record.length) != (row, length):
            return "the index does not point to its record"
        if crc32c(payload) != record.crc:
            return "the frame is not what was written (checksum differs)"
        if not encoding_of(self.spec).is_plausible(payload, self.spec):
            return f"the frame is no {self.spec.encoding} of the stream's size"
        return self._stamp_problem(record)

    def _stamp_problem(self, record: shard.Record) -> str:
        if self.stamps is None:
            return ""
        time, received = self.stamps
        same = (record.time_ns, record.received_ns) == (time[record.row], received[record.row])
        return "" if same else "its stamps differ from those of its record"


def check_images(subject: Subject, spec: ImageStreamSpec, rows: int) -> list[Finding]:
    """Check all frames of a stream, by reading every one of them."""
    *arrays, frames = metadata.array_layouts(spec)
    stamps: Stamps | None = None
    if not any(lost_chunks(subject.path / array.name, array, rows) for array in arrays):
        time, received = (read_rows(subject.path / array.name, array, 0, rows) for array in arrays)
        stamps = time, received
    findings: list[Finding] = []
    size = 0
    for first in range(0, rows, FRAMES_PER_SHARD):
        span = (first, min(rows, first + FRAMES_PER_SHARD))
        path = frames.chunk_path(subject.path / IMAGE, first // FRAMES_PER_SHARD)
        entries = _read_index(path)
        if entries is None:
            name, why = path.relative_to(subject.path), "is truncated or its index is damaged"
            findings.append(subject.error(f"{name} {why if path.is_file() else 'is missing'}", IMAGE, span))
            continue
        size += sum(length for _, length in entries[: span[1] - first])
        with path.open("rb") as file:
            findings += _check_shard(subject, _Shard(file.fileno(), spec, first, entries, stamps), span)
    if not findings and subject.summary is not None and subject.summary.bytes != size:
        findings.append(subject.error(f"{size} bytes of frames, but the episode says {subject.summary.bytes}", IMAGE))
    return findings


def _read_index(path: Path) -> list[tuple[int, int]] | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return shard.read_index(file.fileno())


def _check_shard(subject: Subject, opened: _Shard, span: tuple[int, int]) -> list[Finding]:
    wrong: dict[str, list[int]] = {}
    for row in range(*span):
        problem = opened.problem(row)
        if problem:
            wrong.setdefault(problem, []).append(row)
    return [subject.error(problem, IMAGE, run) for problem, bad in wrong.items() for run in runs(bad)]
