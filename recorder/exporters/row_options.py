"""How streams of different rates are brought to one clock: the choices, and what they mean for each stream."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from recorder.align import Alignment, Int64Array, Method, align, greatest_age_s
from recorder.exporters.contract import Frozen
from recorder.exporters.inputs import Inputs, Vector


class RowOptions(Frozen):
    """The choices."""

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
    command_max_age_s: Annotated[float, Field(gt=0)] = 0.5
    """The same for the command of a control loop, which stays in force over a late tick until the next one [s]."""
    gaps: Literal["refuse", "split"] = "refuse"
    """Where a sample is older: leave the episode out, or cut it into the whole pieces."""
    max_trim_s: Annotated[float, Field(ge=0)] = 1.0
    """Time at either end that may be cut off because a stream has no sample there; more counts as a gap [s]."""
    min_piece_s: Annotated[float, Field(ge=0)] = 0.5
    """Pieces between gaps that are shorter than this are not used [s]."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """How one stream is aligned."""

    usable: Int64Array | None
    """Indices of the samples that may be used; None for all."""
    times: Int64Array
    method: Method
    max_age_s: float
    avoid_edges: bool

    def pick(self, rows: Int64Array, edges: Int64Array) -> Alignment:
        """Align the stream with rows [ns]; `edges` are the changes of control source [ns]."""
        found = align(self.times, rows, self.method, edges if self.avoid_edges else None)
        if self.usable is None:
            return found
        return Alignment(self.usable[found.lower], self.usable[found.upper], found.weight, found.age_s, found.held)

    def facts(self, pick: Alignment) -> dict[str, Any]:
        """Say what was done and how old the samples are, JSON-ready."""
        middle, high = np.quantile(pick.age_s, [0.5, 0.95])
        return {
            "method": self.method,
            "max_age_s": self.max_age_s,
            "age_s": {"p50": float(middle), "p95": float(high), "max": float(pick.age_s.max())},
            "held_rows": int(pick.held.sum()),
        }


def stream_plans(inputs: Inputs, options: RowOptions, tactile: Sequence[str] | None) -> dict[str, StreamPlan]:
    """Say for each stream used, by name, how it is aligned; of the tactile streams those named, or all."""
    chosen: list[tuple[Vector, Method]] = [(vector, options.state) for vector in inputs.state]
    chosen += [(vector, options.passive_action if inputs.passive else "previous") for vector in inputs.action]
    chosen += [
        (vector, options.tactile) for vector in inputs.tactile if tactile is None or vector.stream.spec.name in tactile
    ]
    plans = {vector.stream.spec.name: _vector_plan(vector, method, options, inputs) for vector, method in chosen}
    for camera in inputs.cameras:
        limit = _max_age(camera.spec.rate_hz, options)
        kept = inputs.episode.kept_rows(camera)
        times = camera.time if kept is None else camera.time[kept]
        plans[camera.spec.name] = StreamPlan(kept, times, options.camera, limit, avoid_edges=False)
    return plans


def _vector_plan(vector: Vector, method: Method, options: RowOptions, inputs: Inputs) -> StreamPlan:
    usable = vector.usable()
    kept = inputs.episode.kept_rows(vector.stream)
    if kept is not None:
        usable = np.intersect1d(usable, kept, assume_unique=True)
    limit = _max_age(vector.stream.spec.rate_hz, options)
    if vector in inputs.action and not inputs.passive:
        limit = max(limit, options.command_max_age_s)
    return StreamPlan(usable, vector.stream.time[usable], method, limit, avoid_edges=vector not in inputs.tactile)


def _max_age(rate_hz: float, options: RowOptions) -> float:
    return options.max_age_s if options.max_age_s is not None else greatest_age_s(rate_hz, options.fps)
