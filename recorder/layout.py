"""Where everything of a collection and of an episode stands on disk; no other module spells a path.

A collection is a folder. Episode 12 in it is the Zarr v3 group `000012-<id>.zarr/`; while it is recorded, and after a
crash, the sibling `000012-<id>.journal` says so. The journal stands beside the group and temporary files stand outside
of every group, because Zarr readers complain about foreign members. Discarded episodes move to `.trash/`.
"""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GROUP_SUFFIX = ".zarr"
JOURNAL_SUFFIX = ".journal"
TRASH = ".trash"
MERGING = ".merging"
METADATA = "zarr.json"
_NAME = re.compile(r"^(?P<index>\d{6,})-(?P<id>[0-9A-Za-z-]+)$")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def episode_name(index: int, episode_id: str) -> str:
    """Name of an episode's files without a suffix, for example `000012-20261201T101530Z-1f3a9c`."""
    return f"{index:06d}-{episode_id}"


def parse_name(path: Path) -> tuple[int, str] | None:
    """Index and id of an episode's group or journal; None if the name is not an episode's."""
    if path.suffix not in (GROUP_SUFFIX, JOURNAL_SUFFIX):
        return None
    match = _NAME.match(path.stem)
    return None if match is None else (int(match["index"]), match["id"])


def journal_path(episode: Path) -> Path:
    """The journal of the episode at `episode`."""
    return episode.with_suffix(JOURNAL_SUFFIX)


def trash_path(collection: Path) -> Path:
    """Where a collection keeps its discarded episodes."""
    return collection / TRASH


def merging_path(collection: Path) -> Path:
    """Where a merge into a collection keeps its plan and the episode that it copies; gone once it is done."""
    return collection / MERGING


def merge_plan_path(collection: Path) -> Path:
    """The plan of a merge into a collection that is not done."""
    return merging_path(collection) / "plan.json"


def collection_of(episode: Path) -> Path:
    """The collection of an episode, whether it is in the trash or not."""
    folder = episode.parent
    return folder.parent if folder.name == TRASH else folder


def counterpart(episode: Path) -> Path:
    """Where an episode stands after it was discarded, or, of one in the trash, after it was restored."""
    folder = episode.parent
    return (folder.parent if folder.name == TRASH else folder / TRASH) / episode.name


def metadata_path(node: Path) -> Path:
    """The metadata document of a group or an array."""
    return node / METADATA


def chunk_path(array: Path, number: int, dimensions: int) -> Path:
    """File of the chunk or shard with this number along `time`, in an array of so many dimensions (key `c/N/0/0`)."""
    return array.joinpath("c", str(number), *("0" for _ in range(dimensions - 1)))


def episode_paths(folder: Path) -> list[Path]:
    """The episode groups in a collection or its trash, by index; empty if the folder does not exist."""
    if not folder.is_dir():
        return []
    found = [(name, path) for path in folder.glob(f"*{GROUP_SUFFIX}") if (name := parse_name(path)) is not None]
    return [path for _, path in sorted(found)]


def next_index(collection: Path) -> int:
    """One more than the highest index ever used in the collection, its trash and its journals included."""
    folders = (collection, trash_path(collection))
    names = [parse_name(path) for folder in folders if folder.is_dir() for path in folder.iterdir()]
    return max((name[0] for name in names if name is not None), default=-1) + 1


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a folder against other processes while an episode is numbered in it, labelled, or moved out of it.

    The lock is the kernel's (flock), so that a killed process never leaves one behind.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file; False if a live process has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def root_scratch(episode: Path) -> Path:
    """Temporary file for an episode's root document, outside of the group."""
    return episode.with_suffix(".tmp")


def replace_file(path: Path, data: bytes, scratch: Path | None = None, *, durable: bool = False) -> None:
    """Put `data` at `path` in one step: a reader sees the old document or the new one, never a part.

    Args:
        path: The metadata document of a group or array.
        data: Its new content.
        scratch: Temporary file on the same file system; beside `path` if None.
        durable: Whether to return only once the new document survives a power loss.
    """
    temporary = scratch or path.with_name(path.name + ".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, data)
        if durable:
            os.fdatasync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def boot_id() -> str:
    """The running boot of this host; monotonic stamps of two boots cannot be compared."""
    return _BOOT_ID.read_text(encoding="ascii").strip()
