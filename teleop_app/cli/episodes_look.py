"""`teleop episodes list`, `show` and `du`."""

from collections import defaultdict
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recorder.episode import EpisodeInfo
from recorder.segments import CollectionMode, EpisodeState, Outcome
from recorder.usage import EpisodeUsage, Size, total, trash_usage, usage
from teleop_app.cli.choosing import Wanted
from teleop_app.cli.episodes_options import FOUND_WANTING, AnyPath, AsJson, CollectionPath
from teleop_app.cli.episodes_text import intervention_rows, label_rows, segment_rows
from teleop_app.cli.output import (
    EPISODE_COLUMNS,
    STREAM_COLUMNS,
    episode_facts,
    episode_row,
    line_width,
    print_json,
    print_line,
    print_table,
    stream_rows,
)
from teleop_app.cli.timeline import timeline

if TYPE_CHECKING:
    from recorder.reader import Episode

OPTION = typer.Option
MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


def list_(
    collection: CollectionPath,
    *,
    task: Annotated[str, OPTION(help="Whose task has this text in it.", show_default=False)] = "",
    outcome: Annotated[list[Outcome] | None, OPTION(help="With this outcome; repeatable.")] = None,
    operator: Annotated[str, OPTION(help="Of this operator.", show_default=False)] = "",
    mode: Annotated[list[CollectionMode] | None, OPTION(help="Of this mode; repeatable.")] = None,
    state: Annotated[list[EpisodeState] | None, OPTION(help="In this state; repeatable.")] = None,
    interventions: Annotated[bool | None, OPTION("--interventions/--no-interventions", help="With or without.")] = None,
    faults: Annotated[bool | None, OPTION("--faults/--no-faults", help="With or without.")] = None,
    since: Annotated[datetime | None, OPTION(formats=MOMENTS, help="Begun then or later, local time.")] = None,
    until: Annotated[datetime | None, OPTION(formats=MOMENTS, help="Begun before then, local time.")] = None,
    tag: Annotated[list[str] | None, OPTION(help="With this tag; repeatable, and then with all of them.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the episodes of a collection, all or those asked for. Exit code 1 where one cannot be read."""
    from recorder.collection import scan

    wanted = Wanted(
        task=task,
        outcomes=tuple(outcome or ()),
        operator=operator,
        modes=tuple(mode or ()),
        states=tuple(state or ()),
        interventions=interventions,
        faults=faults,
        since=since,
        until=until,
        tags=tuple(tag or ()),
    )
    entries = scan(collection)
    chosen = [(entry.path, entry.info) for entry in entries if entry.info is not None and wanted.takes(entry.info)]
    if as_json:
        print_json([{"path": str(path), **episode_facts(info)} for path, info in chosen])
    else:
        print_table(str(collection), EPISODE_COLUMNS, [episode_row(info) for _, info in chosen])
        print_line(f"{len(chosen)} of {len(entries)} episodes, {sum(info.duration_s for _, info in chosen):.1f} s")
    problems = [entry.problem for entry in entries if entry.info is None]
    for problem in problems:
        typer.echo(f"teleop: {problem}", err=True)
    if problems:
        raise typer.Exit(FOUND_WANTING)


def show(path: AnyPath, *, as_json: AsJson = False) -> None:
    """Show streams, rates, gaps, a timeline, who commanded when, interventions, and what was said afterwards."""
    from recorder.collection import find
    from recorder.reader import open_episode

    episodes = [open_episode(episode) for episode in find(path)]
    if as_json:
        print_json([_facts(episode.info) for episode in episodes])
        return
    for episode in episodes:
        _show(episode)


def du(path: AnyPath, *, as_json: AsJson = False) -> None:
    """Show the bytes of each stream and in all: the length of the files, and what the disk has allocated for them."""
    from recorder.collection import find

    found = [usage(episode) for episode in find(path)]
    trash = trash_usage(path)
    if as_json:
        print_json(
            {
                "episodes": [_usage_facts(one) for one in found],
                "streams": {name: asdict(size) for name, size in _by_stream(found).items()},
                "total": asdict(total(one.total for one in found)),
                "trash": {"episodes": len(trash), **asdict(total(one.total for one in trash))},
            }
        )
        return
    sizes = _by_stream(found) | {"other": total(one.other for one in found), "total": total(one.total for one in found)}
    if trash:
        sizes["trash"] = total(one.total for one in trash)
    rows = [
        (name, size.files, f"{size.apparent / 1e6:.1f}", f"{size.on_disk / 1e6:.1f}") for name, size in sizes.items()
    ]
    print_table(f"{path}: {len(found)} episodes", ("stream", "files#", "MB#", "MB on disk#"), rows)


def _show(episode: "Episode") -> None:
    info = episode.info
    print_table(f"Episode {info.index}", EPISODE_COLUMNS, [episode_row(info)])
    for name in ("operator", "policy_id", "failure_entry", "notes"):
        if getattr(info, name):
            print_line(f"{name.replace('_', ' ')}: {getattr(info, name)}")
    print_table("Streams", STREAM_COLUMNS, stream_rows(info))
    for line in timeline(info, _gaps(episode), line_width()):
        print_line(line)
    tables = {"Who commanded": segment_rows(info), "Interventions": intervention_rows(info), "Labels": label_rows(info)}
    for title, (columns, rows) in tables.items():
        if rows:
            print_table(title, columns, rows)


def _gaps(episode: "Episode") -> dict[str, list[tuple[int, int]]]:
    """Stream name -> stamps around each gap that its summary names [ns]."""
    return {
        name: [(int(stream.time[row - 1]), int(stream.time[row])) for row in episode.info.streams[name].gap_rows if row]
        for name, stream in episode.streams.items()
        if name in episode.info.streams
    }


def _facts(info: EpisodeInfo) -> dict[str, Any]:
    return {**info.model_dump(mode="json"), "duration_s": info.duration_s, "recorded_s": info.recorded_s}


def _usage_facts(one: EpisodeUsage) -> dict[str, Any]:
    streams = {name: asdict(size) for name, size in one.streams.items()}
    return {"episode": one.path.name, "streams": streams, "other": asdict(one.other), "total": asdict(one.total)}


def _by_stream(found: list[EpisodeUsage]) -> dict[str, Size]:
    sizes: defaultdict[str, Size] = defaultdict(Size)
    for one in found:
        for name, size in one.streams.items():
            sizes[name] += size
    return dict(sizes)
