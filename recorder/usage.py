"""What episodes take on disk, stream by stream."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from recorder import layout
from recorder.errors import EpisodeNotFoundError


@dataclass(frozen=True)
class Size:
    """Files and bytes of something."""

    files: int = 0
    apparent: int = 0
    """Sum of the files' lengths [bytes]."""
    on_disk: int = 0
    """What the file system has allocated for them, less where files have holes [bytes]."""

    def __add__(self, other: "Size") -> "Size":
        """Give both together."""
        return Size(self.files + other.files, self.apparent + other.apparent, self.on_disk + other.on_disk)


@dataclass(frozen=True)
class EpisodeUsage:
    """One episode."""

    path: Path
    streams: dict[str, Size]
    """By stream name."""
    other: Size
    """The root document and, of an episode that is not finished, the journal."""

    @property
    def total(self) -> Size:
        """All of it."""
        return total((*self.streams.values(), self.other))


def total(sizes: Iterable[Size]) -> Size:
    """Give several sizes together."""
    return sum(sizes, Size())


def usage(episode: Path | str) -> EpisodeUsage:
    """Measure an episode, whatever its state; files that go while it is measured are left out.

    Raises:
        EpisodeNotFoundError: There is nothing at that path.
    """
    path = Path(episode)
    if not path.is_dir():
        raise EpisodeNotFoundError(f"there is no episode at {path}")
    entries = sorted(path.iterdir())
    own = [entry for entry in entries if not entry.is_dir()]
    return EpisodeUsage(
        path=path,
        streams={entry.name: _size(_files_below(entry)) for entry in entries if entry.is_dir()},
        other=_size((*own, layout.journal_path(path))),
    )


def trash_usage(collection: Path | str) -> tuple[EpisodeUsage, ...]:
    """Measure the discarded episodes of a collection; none if it has no trash."""
    return tuple(usage(path) for path in layout.episode_paths(layout.trash_path(Path(collection))))


def _files_below(folder: Path) -> Iterable[Path]:
    return (Path(here) / name for here, _, names in os.walk(folder) for name in names)


def _size(files: Iterable[Path]) -> Size:
    return total(size for file in files if (size := _file_size(file)) is not None)


def _file_size(file: Path) -> Size | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return Size(1, found.st_size, found.st_blocks * 512)
