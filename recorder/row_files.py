"""The chunk files of one array of numbers: of full size from the start, memory-mapped, uncompressed.

A row is stored by copying it into mapped memory, which the kernel keeps whatever becomes of the process. Blocks of the
disk are reserved some seconds ahead of the rows, so that a full disk is an error here and not a signal later, and a
short episode does not take the space of a long one.
"""

import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.checksum import crc32c
from recorder.metadata import ArrayLayout


@dataclass(frozen=True, eq=False)
class Chunk:
    """One mapped chunk file. The mapping lives as long as something refers to `rows`."""

    number: int
    path: Path
    descriptor: int
    rows: NDArray[Any]


@dataclass
class RowFiles:
    """Writes the rows of one array. Not locked: the writer that owns it is."""

    folder: Path
    array: ArrayLayout
    current: Chunk | None = None
    prepared: Chunk | None = None
    retired: list[Chunk] = field(default_factory=list)
    checksums: list[int] = field(default_factory=list)
    """CRC-32C of each chunk that is full and synced."""

    @property
    def chunk_bytes(self) -> int:
        """Size of a chunk file [byte]."""
        return self.array.chunk_rows * row_bytes(self.array)

    def advance(self, number: int) -> NDArray[Any]:
        """Make chunk `number` the current one and give its rows, (chunk_rows, *row_shape); reserve before writing."""
        prepared, self.prepared = self.prepared, None
        if prepared is None or prepared.number != number:
            prepared = self.create(number)
        if self.current is not None:
            self.retired.append(self.current)
        self.current = prepared
        return prepared.rows

    def reserve(self, row: int, count: int) -> None:
        """Have the disk set blocks aside for rows of the current chunk, counted within it.

        Raises:
            OSError: The disk is full.
        """
        if self.current is not None:
            size = row_bytes(self.array)
            os.posix_fallocate(self.current.descriptor, row * size, count * size)

    def reach(self, number: int) -> NDArray[Any]:
        """The rows of chunk `number`, which is the current one or the one after it."""
        if self.current is None or self.current.number != number:
            return self.advance(number)
        return self.current.rows

    def unsynced(self) -> tuple[int, Chunk | None]:
        """How many full chunks wait to be synced, and the current one; ask while nothing is appended, then `sync`."""
        return len(self.retired), self.current

    def sync(self, full: int, current: Chunk | None) -> None:
        """Carry to the disk what `unsynced` named; rows may be appended meanwhile."""
        for chunk in self.retired[:full]:
            os.fdatasync(chunk.descriptor)
            self.checksums.append(crc32c(chunk.rows.tobytes()))
            os.close(chunk.descriptor)
            self.retired.remove(chunk)
        if current is not None:
            os.fdatasync(current.descriptor)

    def prepare(self, number: int) -> None:
        """Create chunk `number` before it is needed."""
        if self.prepared is None:
            self.prepared = self.create(number)

    def create(self, number: int) -> Chunk:
        """Create and map the file of chunk `number`, all zeros and without blocks.

        Raises:
            OSError: The disk is full, or the file exists.
        """
        path = self.array.chunk_path(self.folder, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            os.ftruncate(descriptor, self.chunk_bytes)
            mapped = mmap.mmap(descriptor, self.chunk_bytes)
        except OSError:
            os.close(descriptor)
            path.unlink()
            raise
        rows = np.frombuffer(mapped, dtype=little_endian(self.array.dtype))
        return Chunk(number, path, descriptor, rows.reshape(self.array.chunk_rows, *self.array.row_shape))

    def close(self, rows: int) -> None:
        """Let go of all files of an array that came to `rows` rows; files without any go."""
        opened = [*self.retired, *(chunk for chunk in (self.current, self.prepared) if chunk is not None)]
        for chunk in opened:
            used = rows - chunk.number * self.array.chunk_rows
            if used > 0:
                self.checksums.append(crc32c(chunk.rows[:used].tobytes()))
            else:
                chunk.path.unlink()
            os.close(chunk.descriptor)
        self.retired, self.current, self.prepared = [], None, None


def little_endian(dtype: str) -> np.dtype[Any]:
    """How a dtype stands in a file."""
    return np.dtype(dtype).newbyteorder("<")


def row_bytes(array: ArrayLayout) -> int:
    """Size of one row [byte]."""
    return little_endian(array.dtype).itemsize * int(np.prod(array.row_shape, dtype=np.int64))


def trim(folder: Path, array: ArrayLayout, rows: int) -> None:
    """Give the last chunk file its full size with a hole of zeros behind `rows`; a missing file is left missing.

    Cutting first makes the hole; a process killed in between leaves a short file, which the next call completes.
    """
    number, used = divmod(rows, array.chunk_rows)
    path = array.chunk_path(folder, number)
    if used == 0:
        path.unlink(missing_ok=True)
        return
    if not path.is_file():
        return
    os.truncate(path, min(path.stat().st_size, used * row_bytes(array)))
    os.truncate(path, array.chunk_rows * row_bytes(array))


def read_rows(folder: Path, array: ArrayLayout, start: int, stop: int) -> NDArray[Any]:
    """Rows [start, stop) as they stand on disk, whatever the metadata says of their number.

    Args:
        folder: The array's folder.
        array: Its layout.
        start: First row.
        stop: Row after the last.

    Returns:
        (stop - start, *row_shape).

    Raises:
        FileNotFoundError: A chunk file is missing.
        EOFError: A chunk file is shorter than its rows.
    """
    dtype, size = little_endian(array.dtype), row_bytes(array)
    rows = np.empty((stop - start, *array.row_shape), dtype=dtype)
    row = start
    while row < stop:
        number, offset = divmod(row, array.chunk_rows)
        count = min(stop - row, array.chunk_rows - offset)
        path = array.chunk_path(folder, number)
        part = np.fromfile(path, dtype=dtype, count=count * size // dtype.itemsize, offset=offset * size)
        if part.size * dtype.itemsize < count * size:
            raise EOFError(f"{path} ends before row {row + count}")
        rows[row - start : row - start + count] = part.reshape(count, *array.row_shape)
        row += count
    return rows


def write_rows(folder: Path, array: ArrayLayout, start: int, values: NDArray[Any]) -> None:
    """Put rows in their files, outside of recording; files are made and extended as needed."""
    size = row_bytes(array)
    row = start
    while row < start + len(values):
        number, offset = divmod(row, array.chunk_rows)
        count = min(start + len(values) - row, array.chunk_rows - offset)
        path = array.chunk_path(folder, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.ftruncate(descriptor, array.chunk_rows * size)
            part = values[row - start : row - start + count].astype(little_endian(array.dtype))
            os.pwrite(descriptor, part.tobytes(), offset * size)
        finally:
            os.close(descriptor)
        row += count


def sync_rows(folder: Path, array: ArrayLayout, start: int, stop: int) -> None:
    """Carry the files that hold rows [start, stop) to the disk."""
    for number in range(start // array.chunk_rows, -(-stop // array.chunk_rows)):
        path = array.chunk_path(folder, number)
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)


def checksums(folder: Path, array: ArrayLayout, rows: int) -> tuple[int, ...]:
    """CRC-32C of the rows in each chunk file, from disk.

    Raises:
        FileNotFoundError: A chunk file is missing.
        EOFError: A chunk file is shorter than its rows.
    """
    starts = range(0, rows, array.chunk_rows)
    parts = (read_rows(folder, array, start, min(rows, start + array.chunk_rows)) for start in starts)
    return tuple(crc32c(part.tobytes()) for part in parts)


def holds_rows(folder: Path, array: ArrayLayout, rows: int) -> bool:
    """Whether every chunk file of the first `rows` rows is there with its full size."""
    return not lost_chunks(folder, array, rows)


def lost_chunks(folder: Path, array: ArrayLayout, rows: int) -> list[tuple[int, int, Path]]:
    """Rows [start, stop) and file of every chunk that is missing or has the wrong size."""
    lost = []
    for start in range(0, rows, array.chunk_rows):
        path = array.chunk_path(folder, start // array.chunk_rows)
        if not path.is_file() or path.stat().st_size != array.chunk_rows * row_bytes(array):
            lost.append((start, min(rows, start + array.chunk_rows), path))
    return lost
