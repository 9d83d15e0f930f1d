"""Planning a LeRobot export: which episodes fit together, and which rows of them go where."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from recorder.episode import EpisodeInfo
from recorder.errors import ExportError, RecorderError
from recorder.exporters.contract import Frozen, LeftOut, Plan, Shard, Workers
from recorder.exporters.inputs import Inputs, inputs_of, joined_names
from recorder.exporters.lerobot_features import Columns, features_of
from recorder.exporters.lerobot_options import LerobotOptions
from recorder.exporters.rows import episode_rows
from recorder.reader import open_episode
from recorder.segments import EpisodeState
from recorder.validate import Severity, verify

FORMAT = "LeRobot v3.0"


class Candidate(Frozen):
    """An episode that might go in, before its samples are looked at."""

    path: str
    episode_id: str
    task: str
    station: str | None
    columns: Columns
    tactile: tuple[tuple[str, tuple[int, ...]], ...]
    """Name and shape of each tactile stream; these may differ, and only what all share is used."""


@dataclass(frozen=True, slots=True)
class Examined:
    """An episode after its samples were looked at: what was found, or why it cannot go in."""

    facts: dict[str, Any]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Examine:
    """Verify and align one candidate; runs in a worker process."""

    options: LerobotOptions
    tactile: tuple[str, ...]

    def __call__(self, candidate: Candidate) -> Examined:
        """Give the episode's alignment facts, or the sentence that keeps it out."""
        try:
            findings = verify(candidate.path)
            errors = [finding.sentence for finding in findings if finding.severity is Severity.ERROR]
            if errors:
                more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
                return Examined({}, f"it does not verify: {errors[0]}{more}")
            facts = episode_rows(inputs_of(open_episode(candidate.path)), self.options, self.tactile).facts
            return Examined(facts | {"warnings": [finding.sentence for finding in findings]})
        except RecorderError as error:
            return Examined({}, str(error))


def make_plan(paths: Sequence[Path], options: LerobotOptions, workers: Workers) -> Plan:
    """Decide which episodes go in, in the order given.

    Raises:
        ExportError: None can, or one cannot and the options are strict.
    """
    candidates, left_out = _candidates(paths, options)
    candidates, odd = _alike(candidates)
    left_out += odd
    _stop_if_empty(candidates, left_out, options)
    tactile, notes = _shared_tactile(candidates) if options.use_tactile else ({}, ())
    examine = Examine(options, tuple(tactile))
    found = {candidate.path: result for candidate, result in workers.map(examine, candidates)}
    left_out += [
        LeftOut(episode=candidate.episode_id, reason=found[candidate.path].problem)
        for candidate in candidates
        if found[candidate.path].problem
    ]
    chosen = [candidate for candidate in candidates if not found[candidate.path].problem]
    _stop_if_empty(chosen, left_out, options)
    tasks = tuple(dict.fromkeys(candidate.task for candidate in chosen))
    sources = tuple(found[candidate.path].facts for candidate in chosen)
    stations = {candidate.station for candidate in chosen}
    robot_type = options.robot_type or (stations.pop() if len(stations) == 1 else None)
    return Plan(
        format=FORMAT,
        options=options.model_dump(mode="json") | {"robot_type": robot_type},
        features=features_of(chosen[0].columns, tactile, options),
        tasks=tasks,
        shards=_shards(chosen, sources, tasks),
        sources=sources,
        left_out=tuple(left_out),
        notes=notes,
    )


def _candidates(paths: Sequence[Path], options: LerobotOptions) -> tuple[list[Candidate], list[LeftOut]]:
    taken: list[Candidate] = []
    left_out: list[LeftOut] = []
    seen: set[str] = set()
    for path in paths:
        try:
            episode = open_episode(path)
            seen.add(episode.info.id)
            if _is_asked_for(episode.info, options):
                taken.append(_candidate(path, inputs_of(episode)))
        except RecorderError as error:
            left_out.append(LeftOut(episode=path.name, reason=str(error)))
    unknown = sorted(set(options.episodes) - seen)
    if unknown:
        raise ExportError(f"there is no episode {', '.join(unknown)} here")
    return taken, left_out


def _is_asked_for(info: EpisodeInfo, options: LerobotOptions) -> bool:
    wanted = not options.episodes or info.id in options.episodes
    return wanted and (not options.outcomes or info.outcome in options.outcomes)


def _candidate(path: Path, inputs: Inputs) -> Candidate:
    info = inputs.episode.info
    if info.state not in (EpisodeState.COMPLETE, EpisodeState.RECOVERED):
        raise ExportError(f"its state is {info.state.value}: recover it first")
    if not info.task.strip():
        raise ExportError("it has no task text, which LeRobot needs")
    name = info.station.get("robot") or info.station.get("station")
    return Candidate(
        path=str(path),
        episode_id=info.id,
        task=info.task,
        station=name if isinstance(name, str) else None,
        columns=Columns(
            state=tuple(joined_names(inputs.state)),
            action=tuple(joined_names(inputs.action)),
            cameras=tuple((camera.spec.name, camera.spec.height, camera.spec.width) for camera in inputs.cameras),
        ),
        tactile=tuple((vector.stream.spec.name, vector.field.shape) for vector in inputs.tactile),
    )


def _alike(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[LeftOut]]:
    """Keep the episodes with the most frequent columns, the first seen of those that tie."""
    if not candidates:
        return [], []
    usual = Counter(candidate.columns for candidate in candidates).most_common(1)[0][0]
    odd = [
        LeftOut(episode=candidate.episode_id, reason=_difference(candidate.columns, usual))
        for candidate in candidates
        if candidate.columns != usual
    ]
    return [candidate for candidate in candidates if candidate.columns == usual], odd


def _difference(columns: Columns, usual: Columns) -> str:
    if columns.cameras != usual.cameras:
        mine, theirs = (
            ", ".join(f"{name} {width}x{height}" for name, height, width in each.cameras) or "none"
            for each in (columns, usual)
        )
        return f"its cameras are {mine}, those of the others {theirs}"
    part = "state" if columns.state != usual.state else "action"
    mine, theirs = (", ".join(getattr(each, part)) for each in (columns, usual))
    return f"its {part} is {mine}, that of the others {theirs}"


def _stop_if_empty(candidates: Sequence[Candidate], left_out: Sequence[LeftOut], options: LerobotOptions) -> None:
    reasons = "; ".join(f"{left.episode}: {left.reason}" for left in left_out[:3])
    more = f" (and {len(left_out) - 3} more)" if len(left_out) > 3 else ""
    if left_out and options.strict:
        raise ExportError(f"the export is strict and {len(left_out)} episodes cannot go in: {reasons}{more}")
    if not candidates:
        raise ExportError(
            f"no episode can be exported: {reasons}{more}" if left_out else "there is no episode to export"
        )


def _shared_tactile(candidates: Sequence[Candidate]) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...]]:
    """Find the tactile streams that all episodes have in the same shape, and say which are not used."""
    counts = Counter(pad for candidate in candidates for pad in candidate.tactile)
    shared = {name: shape for (name, shape), count in sorted(counts.items()) if count == len(candidates)}
    partial = sorted({name for name, _ in counts} - set(shared))
    notes = tuple(f"tactile stream {name} is not in every episode with one shape and was left out" for name in partial)
    return shared, notes


def _shards(
    chosen: Sequence[Candidate], sources: Sequence[Mapping[str, Any]], tasks: Sequence[str]
) -> tuple[Shard, ...]:
    pieces = [(candidate, piece) for candidate, facts in zip(chosen, sources, strict=True) for piece in facts["pieces"]]
    firsts = accumulate((stop - start for _, (start, stop) in pieces), initial=0)
    return tuple(
        Shard(
            index=index,
            path=candidate.path,
            episode_id=candidate.episode_id,
            start=start,
            stop=stop,
            first_index=first,
            task=candidate.task,
            task_index=tasks.index(candidate.task),
        )
        for index, ((candidate, (start, stop)), first) in enumerate(zip(pieces, firsts, strict=False))
    )
