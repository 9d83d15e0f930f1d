"""`teleop episodes label`, `trim`, `discard`, `restore` and `merge`."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from recorder.episode import EpisodeInfo, Label
from recorder.errors import EpisodeNotFoundError, LabelError, RecorderError
from recorder.labels import Change
from recorder.segments import Outcome
from teleop_app.cli.episodes_options import AsJson, Author, EpisodePaths
from teleop_app.cli.episodes_text import label_value
from teleop_app.cli.output import print_json, print_line

USER_ERROR = 2
OPTION = typer.Option


class Recovered(StrEnum):
    """How an intervention ended."""

    RECOVERED = "recovered"
    NOT_RECOVERED = "not_recovered"
    UNKNOWN = "unknown"


def label(
    paths: EpisodePaths,
    *,
    author: Author,
    outcome: Annotated[Outcome | None, OPTION(help="How the attempt ended.")] = None,
    task: Annotated[str | None, OPTION(help="What was to be done.")] = None,
    note: Annotated[list[str] | None, OPTION(help="A line to add to the notes; repeatable.")] = None,
    notes: Annotated[str | None, OPTION(help="The notes as a whole, in place of what they are.")] = None,
    tag: Annotated[list[str] | None, OPTION(help="A tag to add; repeatable.")] = None,
    untag: Annotated[list[str] | None, OPTION(help="A tag to take away; repeatable.")] = None,
    failure: Annotated[
        str | None, OPTION(help="Entry of the failure taxonomy, of the intervention if one is named; '' for none.")
    ] = None,
    intervention: Annotated[
        int | None, OPTION(min=0, help="Index of the intervention that the next ones are about.")
    ] = None,
    reason: Annotated[str | None, OPTION(help="Why the operator took over.")] = None,
    recovered: Annotated[Recovered | None, OPTION(help="How the intervention ended.")] = None,
    split: Annotated[
        float | None, OPTION(help="When recovery ended and correction began, in seconds of the recording.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say something of episodes after the fact. What was recorded, and what was said before, stays readable."""
    texts = {"outcome": outcome, "task": task, "notes": notes}
    changes = [Change(field, value) for field, value in texts.items() if value is not None]
    changes += [Change("notes", line, how="add") for line in note or ()]
    changes += [Change("tags", word, how="add") for word in tag or ()]
    changes += [Change("tags", word, how="remove") for word in untag or ()]
    if failure is not None:
        changes.append(Change("failure_entry", failure, intervention))
    about = {"reason": _known_reason(reason), "outcome": recovered}
    of_one = {field: value for field, value in about.items() if value is not None}
    if not changes and not of_one and split is None:
        raise LabelError("there is nothing to say; see teleop episodes label --help")
    if intervention is None and (of_one or split is not None):
        raise LabelError("--reason, --recovered and --split need --intervention: the index that `show` gives")

    def say(path: Path) -> tuple[Label, ...]:
        from recorder.labelling import label as label_episode

        more = [Change(field, value, intervention) for field, value in of_one.items()]
        if split is not None:
            more.append(Change("phase_split_ns", _info(path).start_ns + round(split * 1e9), intervention))
        return label_episode(path, [*changes, *more], author=author, utc_ns=_utc_ns())

    _label_each(paths, say, as_json=as_json)


def trim(
    paths: EpisodePaths,
    *,
    author: Author,
    start: Annotated[float | None, OPTION(help="Keep from here, in seconds of the recording.")] = None,
    stop: Annotated[float | None, OPTION(help="Keep up to here, in seconds of the recording.")] = None,
    undo: Annotated[bool, OPTION("--undo", help="Keep the whole episode again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Use only a part of an episode, in lists, readers and exports. Nothing is deleted; an edge not given stays."""
    if undo == (start is not None or stop is not None):
        raise LabelError("give either --start, --stop or both, or else --undo")

    def say(path: Path) -> tuple[Label, ...]:
        from recorder.labelling import trim as trim_episode
        from recorder.labelling import untrim

        if undo:
            return untrim(path, author=author, utc_ns=_utc_ns())
        return trim_episode(path, start, stop, author=author, utc_ns=_utc_ns())

    _label_each(paths, say, as_json=as_json)


def discard(paths: EpisodePaths, *, as_json: AsJson = False) -> None:
    """Move episodes to the trash of their collection; `restore` brings them back."""
    from recorder.episode_writer import discard as discard_episode

    _move_each(paths, discard_episode, as_json=as_json)


def restore(paths: EpisodePaths, *, as_json: AsJson = False) -> None:
    """Bring episodes back from the trash. A path is that in the trash, or the one that the episode had before."""
    from recorder.episode_writer import restore as restore_episode
    from recorder.layout import counterpart

    def bring_back(path: Path) -> Path:
        other = counterpart(path)
        return restore_episode(other if not path.is_dir() and other.is_dir() else path)

    _move_each(paths, bring_back, as_json=as_json)


def merge(
    sources: Annotated[list[Path], typer.Argument(help="Collections or episodes, in the order of their new numbers.")],
    destination: Annotated[Path, typer.Argument(help="The collection that takes them; made if it does not exist.")],
    *,
    link: Annotated[bool, OPTION("--link", help="Hard-link the data instead of copying it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put the episodes of several collections into one. Ids stay, numbers go on; a merge can be repeated."""
    from recorder.merge import merge as merge_collections

    def tell(done: int, count: int) -> None:
        typer.echo(f"{done} of {count} episodes", err=True)

    report = merge_collections(sources, destination, link=link, progress=tell)
    if as_json:
        merged = [
            {"id": one.id, "index": one.index, "source": str(one.source), "path": str(one.path)}
            for one in report.merged
        ]
        print_json({"merged": merged, "resumed": report.resumed, "bytes": report.bytes})
        return
    there = f", {report.resumed} were there from before the interruption" if report.resumed else ""
    print_line(f"{destination}: {len(report.merged)} episodes, {report.bytes / 1e6:.1f} MB{there}")


def _utc_ns() -> int:
    from drivers import clock

    return clock.read_anchor().utc_ns


def _info(path: Path) -> EpisodeInfo:
    from recorder.root import read_info

    return read_info(path)


def _known_reason(reason: str | None) -> str | None:
    if reason is not None:
        from teleop_app.station.verbs import REASONS

        if reason not in REASONS:
            raise LabelError(f"{reason!r} is no reason; reasons are {', '.join(REASONS)}")
    return reason


def _label_each(paths: Sequence[Path], say: Callable[[Path], tuple[Label, ...]], *, as_json: bool) -> None:
    facts: list[dict[str, Any]] = []

    def one(path: Path) -> None:
        added = say(path)
        facts.append({"episode": path.name, "labels": [label.model_dump(mode="json") for label in added]})
        if as_json:
            return
        print_line(f"{path.name}: {'' if added else 'held already, nothing to add'}".rstrip())
        for label in added:
            info = _info(path)
            where = "" if label.intervention is None else f"intervention {label.intervention}: "
            was, new = (label_value(info, label, value) for value in (label.old, label.new))
            print_line(f"  {where}{label.field}: {was} -> {new}")

    _each(paths, one)
    if as_json:
        print_json(facts)


def _move_each(paths: Sequence[Path], move: Callable[[Path], Path], *, as_json: bool) -> None:
    moved: list[dict[str, str]] = []

    def one(path: Path) -> None:
        target = move(path)
        moved.append({"from": str(path), "to": str(target)})
        if not as_json:
            print_line(f"{path.name}: now {target}")

    _each(paths, one)
    if as_json:
        print_json(moved)


def _each(paths: Sequence[Path], act: Callable[[Path], None]) -> None:
    """Act on every path; those that cannot be acted on are named one by one and do not hold up the others."""
    failed = False
    for path in paths:
        try:
            if not path.name.endswith(".zarr"):
                raise EpisodeNotFoundError(f"{path} is no episode; name episodes one by one")
            act(path.absolute())
        except RecorderError as error:
            typer.echo(f"teleop: {error}", err=True)
            failed = True
    if failed:
        raise typer.Exit(USER_ERROR)
