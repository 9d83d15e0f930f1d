"""An episode on one clock: which sample of every stream each row takes, who commanded, and where it must not be used.

Observations take the nearest sample, and so does a foreign controller's command, since a passive episode pairs state
and command by their own stamps. A command of our own control loop is the one of the last tick at or before the row,
the same tick that gives the row its control source: label and action can never disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from recorder.align import (
    Alignment,
    BoolArray,
    FloatArray,
    Gap,
    Int64Array,
    Method,
    align,
    camera_clock,
    find_gaps,
    fixed_rate,
    runs,
    whole_ranges,
    window,
)
from recorder.errors import ExportError
from recorder.exporters.contract import Frozen
from recorder.exporters.inputs import Inputs, Vector
from recorder.segments import CollectionMode, ControlSource


class RowOptions(Frozen):
    """How streams of different rates are brought to one clock."""

    fps: Annotated[int, Field(ge=1, le=1000)] = 30
    """Rows a second [Hz]."""
    clock: str = "fixed"
    """`fixed`: rows at exactly fps from the first moment at which every stream has a sample; else the name of the
    camera whose stamps are the rows."""
    state: Method = "nearest"
    passive_action: Method = "nearest"
    camera: Literal["nearest", "previous"] = "nearest"
    tactile: Method = "nearest"
    max_age_s: Annotated[float, Field(gt=0)] | None = None
    """Oldest sample that a row may take [s]; None: two periods of the stream or of the rows, whichever is longer."""
    gaps: Literal["refuse", "split"] = "refuse"
    """Where a sample is older: leave the episode out, or cut it into the whole pieces."""
    max_trim_s: Annotated[float, Field(ge=0)] = 1.0
    """Time at either end that may be cut off because a stream has no sample there; more counts as a gap [s]."""
    min_piece_s: Annotated[float, Field(ge=0)] = 0.5
    """Pieces between gaps that are shorter than this are not used [s]."""


@dataclass(frozen=True, slots=True)
class EpisodeRows:
    """One episode on its rows. Alignments hold indices into the streams as recorded."""

    inputs: Inputs
    times: Int64Array
    """(rows,) stamps [ns]."""
    picks: dict[str, Alignment]
    """By stream name."""
    source: NDArray[np.uint8]
    """(rows,) ControlSource: that of the last tick at or before the row."""
    operator: BoolArray
    """(rows,) whether what was executed came from the operator, in any mode."""
    gaps: tuple[Gap, ...]
    ranges: tuple[tuple[int, int], ...]
    """Pieces [start, stop) that may be exported; one that covers all rows where there is no gap."""
    facts: dict[str, Any]
    """What was done, JSON-ready."""

    @property
    def intervention(self) -> BoolArray:
        """(rows,) rows that the operator commanded in an episode that was not a demonstration."""
        if self.inputs.episode.info.collection_mode == CollectionMode.TELEOP_DEMO:
            return np.zeros(len(self.times), np.bool_)
        return self.operator

    def column(self, vectors: Sequence[Vector], start: int, stop: int) -> FloatArray:
        """Give the values of vectors that share a column, (stop - start, size)."""
        parts = [self.picks[vector.stream.spec.name].part(start, stop).take(vector.values()) for vector in vectors]
        return np.concatenate(parts, axis=1)

    def segments(self, start: int, stop: int) -> list[dict[str, Any]]:
        """List the runs of one control source in rows [start, stop), counted from `start`."""
        return [
            {"source": ControlSource(value).name.lower(), "start_frame": first, "end_frame": last}
            for value, first, last in runs(self.source[start:stop])
        ]

    def interventions(self, start: int, stop: int) -> list[dict[str, Any]]:
        """List the interventions whose operator rows reach into rows [start, stop), counted from `start`."""
        control, found = self.inputs.control, []
        if control is None:
            return []
        after_last = int(self.times[-1]) + 1
        for item in self.inputs.episode.info.interventions:
            bounds = [item.takeover_row, item.operator_start_row, item.operator_end_row]
            stamps = [int(control.time[row]) if row < len(control) else after_last for row in bounds]
            takeover, first, last = np.searchsorted(self.times[start:stop], stamps).tolist()
            if first < last:
                told = item.model_dump(include={"intervention_id", "trigger", "reason", "policy_id", "outcome"})
                found.append(told | {"takeover_frame": takeover, "start_frame": first, "end_frame": last})
        return found


def episode_rows(inputs: Inputs, options: RowOptions, tactile: Sequence[str] | None = None) -> EpisodeRows:
    """Bring an episode to one clock.

    Args:
        inputs: Its streams by role.
        options: How.
        tactile: Names of the tactile streams to use; None for all.

    Raises:
        ExportError: No row is possible, or there is a gap and gaps are refused.
    """
    plans = _stream_plans(inputs, options, tactile)
    begin, end = window({name: plan.times for name, plan in plans.items()})
    times = _clock(inputs, options, begin, end)
    edges = _source_edges(inputs)
    picks = {name: plan.pick(times, edges) for name, plan in plans.items()}
    gaps = find_gaps({name: (picks[name], plan.max_age_s) for name, plan in plans.items()})
    trimmed = _trimmed(inputs, times)
    if options.gaps == "refuse":
        _refuse(gaps, trimmed, options, plans)
    least = max(1, round(options.min_piece_s * options.fps)) if gaps else 1
    ranges = tuple(piece for piece in whole_ranges(len(times), gaps) if piece[1] - piece[0] >= least)
    if not ranges:
        raise ExportError(f"no piece of it is whole for {options.min_piece_s} s")
    source, operator = _labels(inputs, times)
    facts = _facts(inputs, times, trimmed, ranges) | {
        "streams": {name: plan.facts(picks[name]) for name, plan in plans.items()}
    }
    return EpisodeRows(inputs, times, picks, source, operator, gaps, ranges, facts)


@dataclass(frozen=True, slots=True)
class _StreamPlan:
    """How one stream is aligned."""

    usable: Int64Array | None
    """Indices of the samples that may be used; None for all."""
    times: Int64Array
    method: Method
    max_age_s: float
    avoid_edges: bool

    def pick(self, rows: Int64Array, edges: Int64Array) -> Alignment:
        found = align(self.times, rows, self.method, edges if self.avoid_edges else None)
        if self.usable is None:
            return found
        return Alignment(self.usable[found.lower], self.usable[found.upper], found.weight, found.age_s, found.held)

    def facts(self, pick: Alignment) -> dict[str, Any]:
        middle, high = np.quantile(pick.age_s, [0.5, 0.95])
        return {
            "method": self.method,
            "max_age_s": self.max_age_s,
            "age_s": {"p50": float(middle), "p95": float(high), "max": float(pick.age_s.max())},
            "held_rows": int(pick.held.sum()),
        }


def _stream_plans(inputs: Inputs, options: RowOptions, tactile: Sequence[str] | None) -> dict[str, _StreamPlan]:
    chosen: list[tuple[Vector, Method]] = [(vector, options.state) for vector in inputs.state]
    chosen += [(vector, options.passive_action if inputs.passive else "previous") for vector in inputs.action]
    chosen += [
        (vector, options.tactile) for vector in inputs.tactile if tactile is None or vector.stream.spec.name in tactile
    ]
    plans = {
        vector.stream.spec.name: _vector_plan(vector, method, options, avoid_edges=vector not in inputs.tactile)
        for vector, method in chosen
    }
    for camera in inputs.cameras:
        limit = _max_age(camera.spec.rate_hz, options)
        plans[camera.spec.name] = _StreamPlan(None, camera.time, options.camera, limit, avoid_edges=False)
    return plans


def _vector_plan(vector: Vector, method: Method, options: RowOptions, *, avoid_edges: bool) -> _StreamPlan:
    usable = vector.usable()
    limit = _max_age(vector.stream.spec.rate_hz, options)
    return _StreamPlan(usable, vector.stream.time[usable], method, limit, avoid_edges)


def _max_age(rate_hz: float, options: RowOptions) -> float:
    return options.max_age_s if options.max_age_s is not None else 2.0 / min(rate_hz, options.fps)


def _clock(inputs: Inputs, options: RowOptions, begin: int, end: int) -> Int64Array:
    if options.clock == "fixed":
        return fixed_rate(begin, end, options.fps)
    cameras = {camera.spec.name: camera for camera in inputs.cameras}
    if options.clock not in cameras:
        raise ExportError(f"the clock {options.clock} is not one of its cameras: {', '.join(cameras) or 'none'}")
    return camera_clock(cameras[options.clock].time, begin, end, options.fps)


def _source_edges(inputs: Inputs) -> Int64Array:
    """Give the first tick of every new control source [ns]."""
    if inputs.control is None or not len(inputs.control):
        return np.empty(0, np.int64)
    source = inputs.control.field("source")
    edges: Int64Array = inputs.control.time[1:][source[1:] != source[:-1]]
    return edges


def _labels(inputs: Inputs, times: Int64Array) -> tuple[NDArray[np.uint8], BoolArray]:
    """Give each row the control source of the last tick at or before it, and whether that was the operator.

    Shared control counts as the operator's where the operator's share is at least one half.
    """
    control = inputs.control
    if control is None or not len(control):
        return np.zeros(len(times), np.uint8), np.zeros(len(times), np.bool_)
    tick = align(control.time, times, "previous")
    known = np.isfinite(tick.age_s)
    source: NDArray[np.uint8] = np.where(known, tick.take(control.field("source")), ControlSource.NONE).astype(np.uint8)
    operator: BoolArray = source == ControlSource.OPERATOR
    if any(field.name == "blend" for field in control.spec.fields):
        operator |= (source == ControlSource.SHARED) & (tick.take(control.field("blend")) >= 0.5)
    return source, operator


def _trimmed(inputs: Inputs, times: Int64Array) -> tuple[float, float]:
    """Measure what the window cuts off at the start and at the end of the episode's interval [s]."""
    info = inputs.episode.info
    stop = info.stop_ns if info.stop_ns is not None else int(times[-1])
    return max(0.0, (int(times[0]) - info.start_ns) / 1e9), max(0.0, (stop - int(times[-1])) / 1e9)


def _refuse(
    gaps: tuple[Gap, ...], trimmed: tuple[float, float], options: RowOptions, plans: dict[str, _StreamPlan]
) -> None:
    if gaps:
        worst = max(gaps, key=lambda gap: gap.age_s)
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        raise ExportError(
            f"stream {worst.stream} has a gap at rows {worst.start} to {worst.stop - 1}{more}: the sample there is "
            f"{worst.age_s:.3f} s old, {plans[worst.stream].max_age_s:.3f} s is allowed"
        )
    for cut, place, late in zip(trimmed, ("start", "end"), (True, False), strict=True):
        if cut > options.max_trim_s:
            ends = {name: int(plan.times.min() if late else -plan.times.max()) for name, plan in plans.items()}
            raise ExportError(
                f"stream {max(ends, key=ends.__getitem__)} has no sample in {cut:.3f} s at the {place} of it, "
                f"{options.max_trim_s:.3f} s is allowed"
            )


def _facts(
    inputs: Inputs, times: Int64Array, trimmed: tuple[float, float], ranges: tuple[tuple[int, int], ...]
) -> dict[str, Any]:
    info = inputs.episode.info
    return {
        "episode_id": info.id,
        "episode_index": info.index,
        "task": info.task,
        "outcome": info.outcome.value,
        "collection_mode": info.collection_mode.value,
        "operator": info.operator,
        "policy_id": info.policy_id,
        "boot_id": info.boot_id,
        "window_ns": [int(times[0]), int(times[-1])],
        "trimmed_s": list(trimmed),
        "rows": len(times),
        "pieces": [list(piece) for piece in ranges],
    }
