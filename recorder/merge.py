"""Puts the episodes of several collections into one. Ids stay, numbers go on from the highest there.

An episode is copied beside the collection's own, and moved in by one rename when it is whole: nobody ever sees a half.
The plan of the merge is kept until it is done, so the same merge, asked for again after a kill, goes on where it was.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from recorder import collection, layout, root
from recorder.errors import EpisodeBusyError, EpisodeFormatError, MergeError

Progress = Callable[[int, int], None]
"""Called with (episodes in place, episodes in all)."""


@dataclass(frozen=True)
class Merged:
    """One episode and where it came from."""

    source: Path
    path: Path
    id: str
    index: int


@dataclass(frozen=True)
class MergeReport:
    """What came of a merge."""

    merged: tuple[Merged, ...]
    resumed: int
    """Episodes that an interrupted merge had brought in already."""
    bytes: int
    """Size of the files of `merged`."""


def merge(
    sources: Sequence[Path | str], destination: Path | str, *, link: bool = False, progress: Progress | None = None
) -> MergeReport:
    """Put every episode of some collections into another, which is made if it does not exist; the trash stays.

    Args:
        sources: Collections, or single episodes; their order is that of the new numbers.
        destination: The collection that takes them.
        link: Hard-link the data instead of copying it, on the same file system. The episodes have their labels apart.
        progress: Told after each episode.

    Raises:
        EpisodeNotFoundError: There is no such source.
        EpisodeFormatError: An episode cannot be read.
        EpisodeBusyError: An episode is not finished, or another process is merging into the destination.
        MergeError: An id is there already or comes twice, a file cannot be copied, or another merge was not finished.
    """
    into = Path(destination)
    paths = [path for source in sources for path in collection.find(source)]
    ids = {path: _finished_id(path) for path in paths}
    _refuse_twins(ids)
    into.mkdir(parents=True, exist_ok=True)
    with _held(into):
        present = _begin(into, [str(Path(source).resolve()) for source in sources], ids)
        todo = [path for path in paths if ids[path] not in present]
        merged: list[Merged] = []
        for path in todo:
            staged = _stage(path, layout.merging_path(into), link=link)
            merged.append(_move_in(path, staged, into, ids[path]))
            if progress is not None:
                progress(len(present) + len(merged), len(paths))
        layout.merge_plan_path(into).unlink()
    return MergeReport(tuple(merged), len(present), sum(_size(one.path) for one in merged))


def _finished_id(path: Path) -> str:
    info = root.read_info(path)
    if info.state not in root.FINISHED:
        raise EpisodeBusyError(f"{path}: its state is {info.state.value}; only finished episodes can be merged")
    name = layout.parse_name(path)
    if name is None or name[1] != info.id:
        raise EpisodeFormatError(f"{path} says that its id is {info.id}")
    return info.id


def _refuse_twins(ids: dict[Path, str]) -> None:
    seen: dict[str, Path] = {}
    for path, id_ in ids.items():
        if id_ in seen:
            raise MergeError(f"{seen[id_]} and {path} are the same episode; leave one of them out")
        seen[id_] = path


@contextmanager
def _held(into: Path) -> Iterator[None]:
    """Let no other process merge into a collection; what a merge keeps there goes unless its plan is unfinished."""
    folder = layout.merging_path(into)
    folder.mkdir(exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not layout.try_lock(descriptor) or not os.fstat(descriptor).st_nlink:
            raise EpisodeBusyError(f"another process is merging into {into}")
        try:
            yield
        finally:
            if not layout.merge_plan_path(into).is_file():
                shutil.rmtree(folder)
    finally:
        os.close(descriptor)


def _begin(into: Path, sources: list[str], ids: dict[Path, str]) -> set[str]:
    """Write down what is going to be merged; give the ids that an interrupted run of the same merge brought in."""
    file, folder = layout.merge_plan_path(into), layout.merging_path(into)
    planned = json.loads(file.read_bytes()) if file.is_file() else {"sources": sources, "ids": []}
    if planned["sources"] != sources:
        raise MergeError(
            f"a merge of {', '.join(planned['sources'])} into {into} was interrupted: ask for it again, or remove "
            f"{folder} to leave it as it is"
        )
    present = _present(into)
    twice = [path for path, id_ in ids.items() if id_ in present and id_ not in planned["ids"]]
    if twice:
        more = f", and {len(twice) - 1} more are there" if len(twice) > 1 else ""
        raise MergeError(f"{twice[0]} is in {into} already, as {present[ids[twice[0]]]}{more}; nothing was merged")
    for leftover in folder.glob(f"*{layout.GROUP_SUFFIX}"):
        shutil.rmtree(leftover)
    plan = {"sources": sources, "ids": sorted({*planned["ids"], *ids.values()})}
    layout.replace_file(file, json.dumps(plan).encode(), durable=True)
    return set(ids.values()) & set(present)


def _present(into: Path) -> dict[str, Path]:
    """Episodes of the destination and of its trash by id."""
    paths = [*layout.episode_paths(into), *layout.episode_paths(layout.trash_path(into))]
    return {name[1]: path for path in paths if (name := layout.parse_name(path)) is not None}


def _stage(source: Path, folder: Path, *, link: bool) -> Path:
    """Copy an episode whole, so that it survives a power loss, to where only the merge looks."""
    staged = folder / source.name
    try:
        for here, folders, files in os.walk(source):
            target = staged / Path(here).relative_to(source)
            target.mkdir()
            for name in files:
                _take(Path(here) / name, target / name, link=link)
            layout.sync_folder(target)
            folders.sort()
    except OSError as error:
        raise MergeError(f"{source} cannot be copied to {folder}: {error.strerror}") from error
    return staged


def _take(source: Path, target: Path, *, link: bool) -> None:
    if link:
        os.link(source, target)
        return
    shutil.copyfile(source, target)
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def _move_in(source: Path, staged: Path, into: Path, id_: str) -> Merged:
    """Give a copy the next number and its place, in one step."""
    with layout.locked_folder(into):
        index = layout.next_index(into)
        root.amend(staged, {"index": index})
        path = into / (layout.episode_name(index, id_) + layout.GROUP_SUFFIX)
        staged.rename(path)
        layout.sync_folder(into)
    return Merged(source, path, id_, index)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
