"""Streams of different rates on one clock: which sample belongs to which row, and how old it was there.

Pure functions on stamps. Nothing here reads a file, and the samples themselves are never changed: an alignment is a
set of indices and weights that is applied to a stream's values afterwards.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recorder.errors import AlignmentError

Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

Method = Literal["nearest", "previous", "linear"]
"""How a row gets its value: the sample closest in time, the last one at or before it, or a line between neighbours."""

_NS = 1_000_000_000
_ROUNDING_NS = 1_000
"""Stamps that were computed from a rate are off by their rounding: so little past a limit is not past it."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """One stream on the rows of a clock: row r is (1 - weight[r]) * sample[lower[r]] + weight[r] * sample[upper[r]]."""

    lower: Int64Array
    """(rows,) index of the sample."""
    upper: Int64Array
    """(rows,) index of the second sample of a line; equals `lower` where nothing is interpolated."""
    weight: FloatArray
    """(rows,) share of the upper sample, in [0, 1)."""
    age_s: FloatArray
    """(rows,) distance from the row to the farthest sample used [s]; inf where `previous` has nothing yet."""
    held: BoolArray
    """(rows,) nearest, previous: the row repeats the sample of the row before. linear: no line could be drawn."""

    def take(self, values: NDArray[Any]) -> NDArray[Any]:
        """Give the rows of a stream's values.

        Args:
            values: (samples, ...) one entry for each sample of the stream that was aligned.

        Returns:
            (rows, ...): in the dtype of `values` unless a line was drawn, then float64.
        """
        low = values[self.lower]
        if not self.weight.any():
            return low
        weight = self.weight.reshape(-1, *(1,) * (values.ndim - 1))
        drawn: FloatArray = low + weight * (values[self.upper].astype(np.float64) - low)
        return drawn

    def part(self, start: int, stop: int) -> "Alignment":
        """Give the alignment of rows [start, stop)."""
        rows = slice(start, stop)
        return Alignment(self.lower[rows], self.upper[rows], self.weight[rows], self.age_s[rows], self.held[rows])


@dataclass(frozen=True, slots=True)
class Gap:
    """A run of rows [start, stop) in which one stream has no sample young enough."""

    stream: str
    start: int
    stop: int
    age_s: float
    """Age of the worst row in it [s]."""


def window(times: Mapping[str, Int64Array]) -> tuple[int, int]:
    """Find the time in which every stream has samples.

    Args:
        times: Stream name -> (samples,) stamps [ns], in any order.

    Returns:
        First and last moment, both included [ns].

    Raises:
        AlignmentError: A stream is empty, or two never overlap.
    """
    for name, stamps in times.items():
        if not len(stamps):
            raise AlignmentError(f"stream {name} has no usable sample")
    begin, late = max((int(stamps.min()), name) for name, stamps in times.items())
    end, early = min((int(stamps.max()), name) for name, stamps in times.items())
    if end < begin:
        raise AlignmentError(f"stream {early} ends {(begin - end) / 1e9:.3f} s before stream {late} begins")
    return begin, end


def fixed_rate(begin_ns: int, end_ns: int, fps: int) -> Int64Array:
    """Lay rows at a fixed rate over [begin_ns, end_ns], each rounded to its nearest nanosecond on its own.

    Args:
        begin_ns: Stamp of the first row [ns].
        end_ns: No row is later [ns].
        fps: Rows a second [Hz], a whole number because the formats that need one clock store it as one.

    Returns:
        (rows,) stamps [ns]; at least one.
    """
    if fps < 1:
        raise AlignmentError(f"the rate must be a whole number of rows a second, at least 1, not {fps}")
    rows = (end_ns - begin_ns + _ROUNDING_NS) * fps // _NS + 1
    return begin_ns + (np.arange(rows, dtype=np.int64) * _NS + fps // 2) // fps


def camera_clock(stamps: Int64Array, begin_ns: int, end_ns: int, fps: int) -> Int64Array:
    """Use a camera's own stamps as rows.

    Args:
        stamps: (frames,) stamps of the camera [ns].
        begin_ns: Frames before it are left out [ns].
        end_ns: Frames after it are left out [ns].
        fps: The rate under which the rows will be stored [Hz].

    Returns:
        (rows,) stamps [ns], strictly increasing.

    Raises:
        AlignmentError: A row lies half a period or more from where row / fps puts it: the time would be untrue.
    """
    rows = np.unique(stamps[(stamps >= begin_ns) & (stamps <= end_ns)])
    if not len(rows):
        raise AlignmentError("the camera that gives the clock has no frame in the common window")
    nominal = rows[0] + np.arange(len(rows)) * (_NS / fps)
    worst = float(np.abs(rows - nominal).max()) / 1e9
    if worst * fps >= 0.5:
        raise AlignmentError(
            f"the camera's frames do not lie at {fps} a second: one is {worst:.3f} s from its place; use the fixed rate"
        )
    return rows


def align(times: Int64Array, rows: Int64Array, method: Method, edges: Int64Array | None = None) -> Alignment:
    """Find the sample, or pair of samples, for each row.

    Args:
        times: (samples,) stamps of the stream [ns], at least one; samples that stepped back in time are put in order.
        rows: (rows,) stamps of the clock [ns], increasing.
        method: How a row gets its value.
        edges: (edges,) stamps [ns] at which the control source changed, each the first moment of the new source. No
            line is drawn across one, and a sample on the row's own side is preferred to a nearer one beyond it.

    Returns:
        The alignment, with indices into `times` as given.
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    after = np.searchsorted(ordered, rows, side="right")
    low = np.maximum(after - 1, 0)
    high = np.minimum(after, len(times) - 1)
    if method == "previous":
        age = np.where(after > 0, (rows - ordered[low]) / 1e9, np.inf)
        return _single(order[low], age)
    own_low, own_high = _own_side(ordered[low], ordered[high], rows, edges)
    if method == "nearest":
        closer_high = ordered[high] - rows < rows - ordered[low]
        chosen = np.where(own_low == own_high, np.where(closer_high, high, low), np.where(own_high, high, low))
        return _single(order[chosen], np.abs(rows - ordered[chosen]) / 1e9)
    return _line(ordered, order, rows, (low, high), own_low & own_high, own_high)


def _own_side(
    low: Int64Array, high: Int64Array, rows: Int64Array, edges: Int64Array | None
) -> tuple[BoolArray, BoolArray]:
    """Tell for each row whether its earlier and its later neighbour were taken under the row's control source."""
    marks = np.sort(edges) if edges is not None else np.empty(0, np.int64)
    part = np.searchsorted(marks, rows, side="right")
    own_low = np.searchsorted(marks, low, side="right") == part
    own_high = np.searchsorted(marks, high, side="right") == part
    return own_low, own_high


def _single(chosen: Int64Array, age_s: FloatArray) -> Alignment:
    held = np.zeros(len(chosen), np.bool_)
    held[1:] = chosen[1:] == chosen[:-1]
    return Alignment(chosen, chosen, np.zeros(len(chosen)), age_s, held)


def _line(
    ordered: Int64Array,
    order: Int64Array,
    rows: Int64Array,
    pair: tuple[Int64Array, Int64Array],
    whole: BoolArray,
    own_high: BoolArray,
) -> Alignment:
    low, high = pair
    span = ordered[high] - ordered[low]
    exact = ordered[low] == rows
    drawn = whole & (span > 0) & (ordered[low] < rows)
    weight = np.where(drawn, (rows - ordered[low]) / np.maximum(span, 1), 0.0)
    alone = np.where(own_high & ~whole & ~exact, high, low)
    low, high = np.where(drawn, low, alone), np.where(drawn, high, alone)
    age = np.maximum(np.abs(rows - ordered[low]), np.where(drawn, ordered[high] - rows, 0)) / 1e9
    return Alignment(order[low], order[high], weight, age, ~drawn & ~exact)


def greatest_age_s(stream_hz: float, rows_hz: float) -> float:
    """Age up to which a sample stands for a row: two periods of the stream or of the rows, whichever is longer [s]."""
    return 2.0 / min(stream_hz, rows_hz)


def find_gaps(streams: Mapping[str, tuple[Alignment, float]]) -> tuple[Gap, ...]:
    """List the runs of rows in which a stream's sample is older than its limit.

    Args:
        streams: Name -> its alignment and its greatest age [s].

    Returns:
        The gaps, by stream and then by row.
    """
    found = []
    for name, (alignment, max_age_s) in streams.items():
        for old, start, stop in runs(alignment.age_s > max_age_s + _ROUNDING_NS / _NS):
            if old:
                found.append(Gap(name, start, stop, float(alignment.age_s[start:stop].max())))
    return tuple(found)


def whole_ranges(rows: int, gaps: tuple[Gap, ...]) -> tuple[tuple[int, int], ...]:
    """Give the maximal ranges [start, stop) of rows that lie in no gap.

    Args:
        rows: Number of rows.
        gaps: What `find_gaps` found on them.
    """
    good = np.ones(rows, np.bool_)
    for gap in gaps:
        good[gap.start : gap.stop] = False
    return tuple((start, stop) for value, start, stop in runs(good) if value)


def runs(values: NDArray[Any]) -> Iterator[tuple[Any, int, int]]:
    """Yield (value, start, stop) for each maximal run of equal neighbours, [start, stop) in rows.

    Args:
        values: (rows,) labels.
    """
    if not len(values):
        return
    cuts = np.flatnonzero(values[1:] != values[:-1]) + 1
    bounds = [0, *cuts.tolist(), len(values)]
    for start, stop in pairwise(bounds):
        yield values[start].item(), start, stop
