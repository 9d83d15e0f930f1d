"""Reads episodes, finished or not, without the Zarr library: numbers by slice, frames one at a time.

Of an episode that is being recorded it shows what was committed: every array of a stream up to the shortest of them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder import encodings, layout, metadata, root, shard
from recorder.episode import EpisodeInfo
from recorder.errors import EpisodeFormatError
from recorder.metadata import FRAMES_PER_SHARD, IMAGE, RECEIVED, TIME, ArrayLayout
from recorder.row_files import read_rows
from recorder.slices import FrameSlice, NumericSlice, rows_between
from recorder.streams import FrameEncoding, ImageStreamSpec, NumericStreamSpec, StreamRole


class _Stream:
    """What numeric and image streams have in common: stamps and a length."""

    def __init__(self, path: Path, spec: NumericStreamSpec | ImageStreamSpec) -> None:
        self.path = path
        self._arrays = {array.name: array for array in metadata.array_layouts(spec)}
        self._rows = min(metadata.read_rows(path, name) for name in self._arrays)

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def time(self) -> NDArray[np.int64]:
        """When each sample was true, monotonic clock of the host, (T,) [ns]."""
        return self._read(TIME, 0, self._rows)

    @cached_property
    def received(self) -> NDArray[np.int64]:
        """When each sample reached the host, (T,) [ns]."""
        return self._read(RECEIVED, 0, self._rows)

    def _read(self, name: str, start: int, stop: int) -> NDArray[Any]:
        array: ArrayLayout = self._arrays[name]
        try:
            return read_rows(self.path / name, array, start, stop)
        except (FileNotFoundError, EOFError) as error:
            raise EpisodeFormatError(f"{self.path / name}: rows are lost: {error}") from error


class NumericStream(_Stream):
    """A stream of numbers."""

    def __init__(self, path: Path, spec: NumericStreamSpec) -> None:
        super().__init__(path, spec)
        self.spec = spec

    def field(self, name: str, start: int | None = None, stop: int | None = None) -> NDArray[Any]:
        """Rows [start, stop) of one field, as slicing counts them, (stop - start, *shape) in the field's unit.

        Raises:
            KeyError: The stream has no such field.
            EpisodeFormatError: Rows are lost.
        """
        if name not in self._arrays:
            known = ", ".join(field.name for field in self.spec.fields)
            raise KeyError(f"stream {self.spec.name} has no field {name}; it has {known}")
        first, last, _ = slice(start, stop).indices(len(self))
        return self._read(name, first, max(first, last))

    def between(self, start_ns: int | None = None, stop_ns: int | None = None) -> NumericSlice:
        """Samples whose time is in [start_ns, stop_ns), monotonic clock; None for no bound [ns]."""
        return NumericSlice(self, rows_between(self.time, start_ns, stop_ns))


@dataclass(frozen=True)
class _OpenedShard:
    """Number, descriptor and index of the shard that was read last."""

    number: int
    descriptor: int
    entries: list[tuple[int, int]]


class ImageStream(_Stream):
    """A stream of frames. Not for several threads at once; open the episode again for each."""

    def __init__(self, path: Path, spec: ImageStreamSpec) -> None:
        super().__init__(path, spec)
        self.spec = spec
        self._opened: _OpenedShard | None = None

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file that was read last; reading opens it again."""
        opened = getattr(self, "_opened", None)
        if opened is not None:
            os.close(opened.descriptor)
            self._opened = None

    def jpeg(self, index: int) -> bytes:
        """One frame as the JPEG that was stored.

        Raises:
            IndexError: The stream has no such row.
            EpisodeFormatError: The frame is lost, or the stream does not keep JPEGs.
        """
        if self.spec.encoding is not FrameEncoding.JPEG:
            raise EpisodeFormatError(f"stream {self.spec.name} keeps its frames as {self.spec.encoding}, not as jpeg")
        return self.stored(index)

    def stored(self, index: int) -> bytes:
        """One frame as it was stored, in the stream's encoding.

        Raises:
            IndexError: The stream has no such row.
            EpisodeFormatError: The frame is lost.
        """
        if not -len(self) <= index < len(self):
            raise IndexError(f"stream {self.spec.name} has {len(self)} frames, none at {index}")
        number, position = divmod(index % len(self), FRAMES_PER_SHARD)
        opened = self._open(number)
        offset, length = opened.entries[position]
        data = b"" if offset == shard.ABSENT else os.pread(opened.descriptor, length, offset)
        if not data or len(data) != length:
            raise EpisodeFormatError(f"{self.path / IMAGE}: row {index % len(self)} is lost")
        return data

    def frame(self, index: int) -> NDArray[Any]:
        """One frame as RGB pixels, uint8 (H, W, 3), or depth, uint16 (H, W) in steps of `spec.scale` `spec.unit`.

        Raises:
            IndexError: The stream has no such row.
            EpisodeFormatError: The frame is lost or damaged.
        """
        try:
            return encodings.unpack(self.stored(index), self.spec)
        except ValueError as error:
            raise EpisodeFormatError(f"{self.path / IMAGE}: row {index}: {error}") from error

    def between(self, start_ns: int | None = None, stop_ns: int | None = None) -> FrameSlice:
        """Frames whose time is in [start_ns, stop_ns), monotonic clock; None for no bound [ns]."""
        return FrameSlice(self, rows_between(self.time, start_ns, stop_ns))

    def _open(self, number: int) -> _OpenedShard:
        if self._opened is not None and self._opened.number == number:
            return self._opened
        self.close()
        path = self._arrays[IMAGE].chunk_path(self.path / IMAGE, number)
        first = number * FRAMES_PER_SHARD
        rows = f"rows {first} to {min(first + FRAMES_PER_SHARD, len(self)) - 1}"
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            raise EpisodeFormatError(f"{path} is missing: {rows} are lost") from None
        entries = shard.read_index(descriptor)
        if entries is None:
            os.close(descriptor)
            raise EpisodeFormatError(f"{path} has a damaged index: {rows} cannot be read")
        self._opened = _OpenedShard(number, descriptor, entries)
        return self._opened


@dataclass(frozen=True)
class Episode:
    """An episode opened for reading."""

    path: Path
    info: EpisodeInfo
    streams: Mapping[str, NumericStream | ImageStream]
    """By name, in the order of their declaration; a declared stream that never began is not there."""

    def by_role(self, role: StreamRole) -> list[NumericStream | ImageStream]:
        """The streams with a role, in the order of their declaration."""
        return [stream for stream in self.streams.values() if stream.spec.role is role]

    @property
    def kept(self) -> tuple[int, int]:
        """The part [start_ns, stop_ns) to be used: all of it unless it was trimmed [ns]."""
        start, stop = self.info.kept
        if stop is None:
            stop = max([start, *(int(stream.time[-1]) + 1 for stream in self.streams.values() if len(stream))])
        return start, stop

    def kept_rows(self, stream: NumericStream | ImageStream) -> NDArray[np.int64] | None:
        """Rows of one of its streams that a trim keeps, ascending; None for all."""
        return None if self.info.kept_ns is None else rows_between(stream.time, *self.info.kept_ns)

    def slice_s(
        self, start_s: float | None = None, stop_s: float | None = None
    ) -> Mapping[str, NumericSlice | FrameSlice]:
        """Every stream from `start_s` up to before `stop_s`, from the start of the recording [s].

        None stands for the edge of what is kept.
        """
        start, stop = self.kept
        start = start if start_s is None else self.info.start_ns + round(start_s * 1e9)
        stop = stop if stop_s is None else self.info.start_ns + round(stop_s * 1e9)
        return {name: stream.between(start, stop) for name, stream in self.streams.items()}


def open_episode(path: Path | str) -> Episode:
    """Open an episode for reading, whatever its state.

    Raises:
        EpisodeNotFoundError: There is nothing at that path.
        EpisodeFormatError: What is there is no episode of this schema, or its metadata is damaged.
    """
    episode = Path(path)
    info = root.read_info(episode)
    streams = {stream.spec.name: stream for stream in open_streams(episode, info)}
    return Episode(episode, info, MappingProxyType(streams))


def open_streams(episode: Path, info: EpisodeInfo) -> list[NumericStream | ImageStream]:
    """The declared streams that have begun.

    Raises:
        EpisodeFormatError: A stream's metadata is damaged.
    """
    return [
        ImageStream(episode / spec.name, spec)
        if isinstance(spec, ImageStreamSpec)
        else NumericStream(episode / spec.name, spec)
        for spec in info.stream_specs
        if layout.metadata_path(episode / spec.name).is_file()
    ]
