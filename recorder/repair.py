"""Brings one stream back whose writer died: its length from its rows, its index from its records.

Everything is derived from the data and written data first, length after, so that a repair that is killed is simply
repeated.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from recorder import layout, metadata, stream_files
from recorder.episode import EpisodeInfo, StreamSummary
from recorder.metadata import IMAGE, TIME, ArrayLayout
from recorder.repair_images import repair_images
from recorder.row_files import checksums, holds_rows, little_endian, lost_chunks, read_rows, row_bytes, sync_rows, trim
from recorder.stamps import summarise
from recorder.stream_files import StreamFolder, committed_rows
from recorder.streams import ImageStreamSpec, NumericStreamSpec


def repair_missing_summaries(
    episode: Path, info: EpisodeInfo, known: Mapping[str, StreamSummary]
) -> dict[str, StreamSummary]:
    """The summary of every declared stream: the known ones, and for the others what a repair finds.

    Raises:
        EpisodeBusyError: A stream without a summary is still being written.
    """
    same_boot = info.boot_id == layout.boot_id()
    summaries = {}
    for spec in info.stream_specs:
        path = episode / spec.name
        began = layout.metadata_path(path).is_file()
        summary = known.get(spec.name) if began else None
        summaries[spec.name] = summary or repair_stream(path, spec, same_boot=same_boot)
    return summaries


def repair_stream(path: Path, spec: NumericStreamSpec | ImageStreamSpec, *, same_boot: bool) -> StreamSummary:
    """Make a stream whole from what is on disk; repeating it changes nothing.

    Args:
        path: The stream's folder; made if it is missing.
        spec: What the stream was declared to be.
        same_boot: Whether the host has run since the last row. If not, pages may have reached the disk out of order,
            and rows of numbers count only as far as they were committed.

    Returns:
        The figures of what is there, with what is lost in words.

    Raises:
        EpisodeBusyError: A live process is writing the stream.
    """
    never_began = not layout.metadata_path(path).is_file()
    path.mkdir(exist_ok=True)
    folder = stream_files.complete(path, spec)
    try:
        if isinstance(spec, ImageStreamSpec):
            rows, size, losses = repair_images(folder)
        else:
            rows, losses = _repair_numbers(folder, same_boot=same_boot)
            size = rows * sum(row_bytes(array) for array in folder.arrays)
        drops = metadata.read_drops(path)
        folder.publish(rows, drops)
    finally:
        folder.release()
    if never_began and not rows:
        losses = ["its writer never began"]
    whole = [array for array in folder.arrays if array.name != IMAGE and holds_rows(path / array.name, array, rows)]
    time, received = (read_rows(path / array.name, array, 0, rows) for array in folder.arrays[:2])
    figures = {
        "drops": drops,
        "lost": "; ".join(losses),
        "checksums": {array.name: checksums(path / array.name, array, rows) for array in whole},
    }
    return summarise(time, received, spec.rate_hz, size).model_copy(update=figures)


def _repair_numbers(folder: StreamFolder, *, same_boot: bool) -> tuple[int, list[str]]:
    committed = committed_rows(folder)
    found = _count_rows(folder.path / TIME, folder.arrays[0])
    if found < committed:
        # Damage, not a kill: what follows the lost stamps is left on disk.
        return found, [f"rows {found} to {committed - 1}: their stamps are not on disk"]
    rows = found if same_boot else committed
    for array in folder.arrays:
        sync_rows(folder.path / array.name, array, committed, rows)
        trim(folder.path / array.name, array, rows)
        _drop_chunks(folder.path / array.name, array, rows)
    losses = [] if rows == found else [f"rows {rows} to {found - 1}: not committed before the power loss"]
    for array in folder.arrays:
        for start, stop, _ in lost_chunks(folder.path / array.name, array, rows):
            losses.append(f"{array.name} rows {start} to {stop - 1}: their chunk file is not on disk")
    return rows, losses


def _count_rows(path: Path, array: ArrayLayout) -> int:
    """Rows up to the first that has no stamp."""
    number = 0
    while (chunk := array.chunk_path(path, number)).is_file():
        stamps = np.fromfile(chunk, dtype=little_endian(array.dtype))
        empty = np.flatnonzero(stamps == 0)
        if empty.size:
            return number * array.chunk_rows + int(empty[0])
        if stamps.size < array.chunk_rows:
            return number * array.chunk_rows + stamps.size
        number += 1
    return number * array.chunk_rows


def _drop_chunks(path: Path, array: ArrayLayout, rows: int) -> None:
    """Remove chunk files that were allocated in advance and hold no row."""
    number = -(-rows // array.chunk_rows)
    while (chunk := array.chunk_path(path, number)).is_file():
        chunk.unlink()
        number += 1
