"""An episode as a table: several streams on the rows of one clock, without writing anything.

The rules are those of `recorder.align`, which exporters use too. Trimmed parts are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.align import (
    Alignment,
    BoolArray,
    FloatArray,
    Gap,
    Int64Array,
    Method,
    align,
    find_gaps,
    fixed_rate,
    greatest_age_s,
    window,
)
from recorder.errors import AlignmentError
from recorder.reader import Episode, ImageStream, NumericStream
from recorder.segments import CollectionMode
from recorder.sources import changes_of_source, source_at
from recorder.streams import StreamRole


@dataclass(frozen=True, slots=True)
class AlignedRows:
    """Streams of one episode on common rows. Values are read when they are asked for."""

    episode: Episode
    times: Int64Array
    """(rows,) monotonic clock [ns]."""
    picks: Mapping[str, Alignment]
    """By stream name: which samples each row takes, as indices into the stream."""
    max_age_s: Mapping[str, float]
    """By stream name: age up to which a sample stands for a row [s]."""
    source: NDArray[np.uint8]
    """(rows,) ControlSource: that of the last tick at or before the row."""
    operator: BoolArray
    """(rows,) whether what was executed came from the operator, in any mode."""
    gaps: tuple[Gap, ...]
    """Runs of rows for which a stream has no sample that is young enough."""

    def __len__(self) -> int:
        return len(self.times)

    @property
    def seconds(self) -> FloatArray:
        """(rows,) from the start of the recording [s]."""
        return (self.times - self.episode.info.start_ns) / 1e9

    @property
    def intervention(self) -> BoolArray:
        """(rows,) rows that the operator commanded in an episode that was not a demonstration."""
        if self.episode.info.collection_mode == CollectionMode.TELEOP_DEMO:
            return np.zeros(len(self.times), np.bool_)
        return self.operator

    def age_s(self, stream: str) -> FloatArray:
        """(rows,) distance to the farthest sample that the row takes of a stream [s]."""
        return self.picks[stream].age_s

    def held(self, stream: str) -> BoolArray:
        """(rows,) whether the row repeats the sample of the row before, or no line could be drawn."""
        return self.picks[stream].held

    def field(self, stream: str, name: str) -> NDArray[Any]:
        """Values of one field on the rows, (rows, *shape); lines are drawn through floating-point fields only.

        Raises:
            KeyError: There is no such stream of numbers, or it has no such field.
        """
        numbers = self.episode.streams[stream]
        if not isinstance(numbers, NumericStream):
            raise KeyError(f"stream {stream} holds frames; take frame(stream, row)")
        values = numbers.field(name)
        pick = self.picks[stream]
        if values.dtype.kind != "f":
            return values[np.where(pick.weight < 0.5, pick.lower, pick.upper)]
        return pick.take(values)

    def frame(self, stream: str, row: int) -> NDArray[Any]:
        """Decode the frame that a row takes of a camera, (H, W, 3).

        Raises:
            KeyError: There is no such camera.
        """
        camera = self.episode.streams[stream]
        if not isinstance(camera, ImageStream):
            raise KeyError(f"stream {stream} holds numbers; take field(stream, name)")
        return camera.frame(int(self.picks[stream].lower[row]))


def aligned(
    episode: Episode,
    rate_hz: int = 30,
    *,
    streams: Sequence[str] | None = None,
    method: Method | Mapping[str, Method] | None = None,
    max_age_s: float | None = None,
) -> AlignedRows:
    """Bring streams to rows at a fixed rate, over the time in which all of them have samples.

    Args:
        episode: An opened episode.
        rate_hz: Rows a second, a whole number [Hz].
        streams: Names; None for all that have begun.
        method: One for all numeric streams, or by stream name. Where nothing is said: `previous` for a control stream,
            because a command stays in force until the next, and `nearest` for all others. Frames are never
            interpolated.
        max_age_s: An older sample makes a gap [s]; None: two periods of the stream or of the rows, the longer one.

    Raises:
        AlignmentError: There is no such stream, a stream has no sample, two never overlap, or a method does not fit.
    """
    chosen = _chosen(episode, streams)
    methods = {name: _method(stream, method) for name, stream in chosen.items()}
    kept = {name: episode.kept_rows(stream) for name, stream in chosen.items()}
    stamps = {name: stream.time if kept[name] is None else stream.time[kept[name]] for name, stream in chosen.items()}
    times = fixed_rate(*window(stamps), rate_hz)
    control = _control(episode)
    edges = changes_of_source(control)
    picks = {
        name: _pick(align(stamps[name], times, methods[name], edges if _follows(stream) else None), kept[name])
        for name, stream in chosen.items()
    }
    limits = {
        name: greatest_age_s(stream.spec.rate_hz, rate_hz) if max_age_s is None else max_age_s
        for name, stream in chosen.items()
    }
    source, operator = source_at(control, times)
    gaps = find_gaps({name: (pick, limits[name]) for name, pick in picks.items()})
    return AlignedRows(episode, times, MappingProxyType(picks), MappingProxyType(limits), source, operator, gaps)


def _chosen(episode: Episode, names: Sequence[str] | None) -> dict[str, NumericStream | ImageStream]:
    wanted = tuple(episode.streams) if names is None else tuple(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in episode.streams]
    if unknown or not wanted:
        what = f"no stream {', '.join(unknown)}" if unknown else "no stream to align"
        raise AlignmentError(f"episode {episode.info.id} has {what}; it has {', '.join(episode.streams) or 'none'}")
    return {name: episode.streams[name] for name in wanted}


def _method(stream: NumericStream | ImageStream, asked: Method | Mapping[str, Method] | None) -> Method:
    usual: Method = "previous" if stream.spec.role is StreamRole.CONTROL else "nearest"
    if isinstance(stream, ImageStream):
        named = asked.get(stream.spec.name, usual) if isinstance(asked, Mapping) else usual
        if named == "linear":
            raise AlignmentError(f"stream {stream.spec.name} holds frames; no line can be drawn between them")
        return named
    return asked.get(stream.spec.name, usual) if isinstance(asked, Mapping) else asked or usual


def _control(episode: Episode) -> NumericStream | None:
    streams = (stream for stream in episode.by_role(StreamRole.CONTROL) if isinstance(stream, NumericStream))
    return next((stream for stream in streams if any(field.name == "source" for field in stream.spec.fields)), None)


def _follows(stream: NumericStream | ImageStream) -> bool:
    """Whether a stream's samples say something else after the control source changed."""
    return stream.spec.role in (StreamRole.STATE, StreamRole.ACTION, StreamRole.OPERATOR)


def _pick(found: Alignment, rows: Int64Array | None) -> Alignment:
    """Turn indices into the rows that were aligned into indices into the stream."""
    if rows is None:
        return found
    return Alignment(rows[found.lower], rows[found.upper], found.weight, found.age_s, found.held)
