"""A stream's folder on disk: made once, held by one writer, its length moved forward in one step per array."""

import os
from dataclasses import dataclass
from pathlib import Path

from recorder import layout, metadata
from recorder.errors import EpisodeBusyError, EpisodeFormatError, EpisodeNotFoundError, RecorderError
from recorder.metadata import ArrayLayout
from recorder.streams import ImageStreamSpec, NumericStreamSpec


@dataclass(frozen=True)
class StreamFolder:
    """A stream's folder, locked by this process for as long as `descriptor` is open."""

    path: Path
    arrays: tuple[ArrayLayout, ...]
    descriptor: int

    def publish(self, rows: int, drops: int) -> None:
        """Say that every array has `rows` rows; their data must be on disk already."""
        for array in self.arrays:
            layout.replace_file(layout.metadata_path(self.path / array.name), array.encode(rows, drops))

    def release(self) -> None:
        """Let go of the lock."""
        os.close(self.descriptor)


def create(episode: Path, spec: NumericStreamSpec | ImageStreamSpec) -> StreamFolder:
    """Make the folder of a new, empty stream in an episode.

    Raises:
        EpisodeNotFoundError: There is no episode at that path.
        RecorderError: The episode has this stream already.
    """
    if not layout.metadata_path(episode).is_file():
        raise EpisodeNotFoundError(f"there is no episode at {episode}; create it before its stream {spec.name}")
    path = episode / spec.name
    try:
        path.mkdir()
    except FileExistsError:
        raise RecorderError(f"episode {episode} has a stream {spec.name} already") from None
    return complete(path, spec)


def complete(path: Path, spec: NumericStreamSpec | ImageStreamSpec) -> StreamFolder:
    """Lock a stream's folder and add what is missing of its metadata; lengths that are there stay.

    Raises:
        EpisodeBusyError: A live process is writing the stream.
    """
    folder = hold(path, metadata.array_layouts(spec))
    for array in folder.arrays:
        document = layout.metadata_path(path / array.name)
        if not document.is_file():
            document.parent.mkdir(exist_ok=True)
            layout.replace_file(document, array.encode(0))
    if not layout.metadata_path(path).is_file():
        layout.replace_file(layout.metadata_path(path), metadata.encode_group(spec.model_dump(mode="json")))
    return folder


def hold(path: Path, arrays: tuple[ArrayLayout, ...]) -> StreamFolder:
    """Lock the folder of a stream against other writers.

    Raises:
        EpisodeBusyError: A live process is writing the stream.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    if not layout.try_lock(descriptor):
        os.close(descriptor)
        raise EpisodeBusyError(f"stream {path.name} of {path.parent} is being written by a live process")
    return StreamFolder(path, arrays, descriptor)


def committed_rows(folder: StreamFolder) -> int:
    """The length that was published last; an unreadable document is made anew and counts as nothing."""
    lengths = []
    for array in folder.arrays:
        try:
            lengths.append(metadata.read_rows(folder.path, array.name))
        except EpisodeFormatError:
            layout.replace_file(layout.metadata_path(folder.path / array.name), array.encode(0))
    return max(lengths, default=0)
