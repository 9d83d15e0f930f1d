"""An episode on one clock: which sample of every stream each row takes, who commanded, and where it must not be used.

Observations take the nearest sample, and so does a foreign controller's command, since a passive episode pairs state
and command by their own stamps. A command of our own control loop is the one of the last tick at or before the row,
the same tick that gives the row its control source: label and action can never disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.align import (
    Alignment,
    BoolArray,
    FloatArray,
    Gap,
    Int64Array,
    camera_clock,
    find_gaps,
    fixed_rate,
    runs,
    whole_ranges,
    window,
)
from recorder.errors import ExportError
from recorder.exporters.inputs import Inputs, Vector
from recorder.exporters.row_options import RowOptions, StreamPlan, stream_plans
from recorder.segments import CollectionMode, ControlSource
from recorder.sources import changes_of_source, source_at


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
    plans = stream_plans(inputs, options, tactile)
    begin, end = window({name: plan.times for name, plan in plans.items()})
    times = _clock(inputs, options, begin, end)
    edges = changes_of_source(inputs.control)
    picks = {name: plan.pick(times, edges) for name, plan in plans.items()}
    gaps = find_gaps({name: (picks[name], plan.max_age_s) for name, plan in plans.items()})
    trimmed = _trimmed(inputs, times)
    if options.gaps == "refuse":
        _refuse(gaps, trimmed, options, plans)
    least = max(1, round(options.min_piece_s * options.fps)) if gaps else 1
    ranges = tuple(piece for piece in whole_ranges(len(times), gaps) if piece[1] - piece[0] >= least)
    if not ranges:
        raise ExportError(f"no piece of it is whole for {options.min_piece_s} s")
    source, operator = source_at(inputs.control, times)
    facts = _facts(inputs, times, trimmed, ranges) | {
        "streams": {name: plan.facts(picks[name]) for name, plan in plans.items()}
    }
    return EpisodeRows(inputs, times, picks, source, operator, gaps, ranges, facts)


def _clock(inputs: Inputs, options: RowOptions, begin: int, end: int) -> Int64Array:
    if options.clock == "fixed":
        return fixed_rate(begin, end, options.fps)
    cameras = {camera.spec.name: camera for camera in inputs.cameras}
    if options.clock not in cameras:
        raise ExportError(f"the clock {options.clock} is not one of its cameras: {', '.join(cameras) or 'none'}")
    return camera_clock(cameras[options.clock].time, begin, end, options.fps)


def _trimmed(inputs: Inputs, times: Int64Array) -> tuple[float, float]:
    """Measure what the window cuts off at the start and at the end of what is kept of the episode [s]."""
    start, stop = inputs.episode.kept
    return max(0.0, (int(times[0]) - start) / 1e9), max(0.0, (stop - int(times[-1])) / 1e9)


def _refuse(
    gaps: tuple[Gap, ...], trimmed: tuple[float, float], options: RowOptions, plans: dict[str, StreamPlan]
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
        "kept_ns": list(inputs.episode.kept),
        "window_ns": [int(times[0]), int(times[-1])],
        "trimmed_s": list(trimmed),
        "rows": len(times),
        "pieces": [list(piece) for piece in ranges],
    }
