"""A folder of episodes: what is in it, in order, whatever the state of each."""

import logging
from dataclasses import dataclass
from pathlib import Path

from recorder import layout, root
from recorder.episode import EpisodeInfo
from recorder.errors import EpisodeNotFoundError, RecorderError

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """One episode of a collection."""

    path: Path
    info: EpisodeInfo | None
    """None if it cannot be read."""
    problem: str = ""
    """Why it cannot be read."""


def scan(collection: Path | str) -> list[Entry]:
    """All episodes of a collection by index, those that cannot be read included.

    Raises:
        EpisodeNotFoundError: There is no such folder.
    """
    return [_entry(path) for path in find(collection)]


def list_episodes(collection: Path | str) -> list[EpisodeInfo]:
    """The readable episodes of a collection by index; one that cannot be read is logged and left out.

    Raises:
        EpisodeNotFoundError: There is no such folder.
    """
    entries = scan(collection)
    for entry in entries:
        if entry.info is None:
            _log.warning("%s", entry.problem)
    return [entry.info for entry in entries if entry.info is not None]


def find(path: Path | str) -> list[Path]:
    """The episodes at a path: the episode itself, or all of a collection by index.

    Raises:
        EpisodeNotFoundError: There is nothing at that path.
    """
    target = Path(path)
    if not target.is_dir():
        raise EpisodeNotFoundError(f"there is no episode or collection at {target}")
    if target.suffix == layout.GROUP_SUFFIX:
        return [target]
    return layout.episode_paths(target)


def _entry(path: Path) -> Entry:
    try:
        return Entry(path, root.read_info(path))
    except RecorderError as error:
        return Entry(path, None, str(error))
