"""Segments and interventions, derived from what the control loop executed and from the operator's requests.

The control stream is the truth: one row a tick with its control source. Events add what the rows cannot say: when the
operator asked, and why. Deriving twice from the same rows and events gives the same result, so nothing is stored that
could disagree with the rows.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recorder.episode import EpisodeInfo, Event, Intervention, Segment
from recorder.reader import NumericStream
from recorder.segments import CollectionMode, ControlSource

TAKEOVER_REQUEST = "takeover_request"
RELEASE_REQUEST = "release_request"
REASON = "reason"
_PAUSE_ONLY = {ControlSource.HOLD, ControlSource.NONE, ControlSource.SCRIPTED, ControlSource.STOPPED}


@dataclass(frozen=True, slots=True)
class ControlRows:
    """What the derivation reads of a control stream."""

    time_ns: NDArray[np.int64]
    """Tick times, shape (T,)."""
    source: NDArray[np.uint8]
    """ControlSource values, shape (T,)."""
    sent: NDArray[np.float64] | None = None
    """Commands after limits, NaN where nothing was sent, shape (T, n_joints) [rad]."""


def derive_from_stream(
    control: NumericStream, info: EpisodeInfo
) -> tuple[tuple[Segment, ...], tuple[Intervention, ...]]:
    """Derive from an episode's control stream and metadata."""
    fields = {field.name for field in control.spec.fields}
    sent = control.field("sent") if "sent" in fields else None
    return derive(ControlRows(control.time, control.field("source"), sent), info)


def derive(rows: ControlRows, info: EpisodeInfo) -> tuple[tuple[Segment, ...], tuple[Intervention, ...]]:
    """Tile the rows with segments and group the rows between two policy runs into interventions.

    Returns:
        Segments that tile [0, T), and interventions in order; none in a demonstration.
    """
    runs = _runs(rows.source)
    spans = [] if info.collection_mode == CollectionMode.TELEOP_DEMO else _intervention_spans(rows, runs, info.events)
    segments = tuple(_segment(rows, index, run, spans) for index, run in enumerate(runs))
    limits = [rows.time_ns[span[0]] for span in spans[1:]] + [np.iinfo(np.int64).max]
    interventions = tuple(
        _intervention(rows, index, span, info, int(limits[index])) for index, span in enumerate(spans)
    )
    return segments, interventions


def _runs(source: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Maximal runs of equal source as half-open row intervals."""
    if not len(source):
        return []
    cuts = np.flatnonzero(np.diff(source)) + 1
    edges = [0, *cuts.tolist(), len(source)]
    return list(itertools.pairwise(edges))


def _intervention_spans(
    rows: ControlRows, runs: list[tuple[int, int]], events: Sequence[Event]
) -> list[tuple[int, int]]:
    """Row intervals between policy runs in which the operator acted or asked to act."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    seen: set[ControlSource] = set()
    for first, _end in [*runs, (len(rows.source), len(rows.source))]:
        source = ControlSource(rows.source[first]) if first < len(rows.source) else ControlSource.POLICY
        if source is not ControlSource.POLICY:
            start = first if start is None else start
            seen.add(source)
            continue
        if start is not None and (ControlSource.OPERATOR in seen or _was_asked(rows, start, first, seen, events)):
            spans.append((start, first))
        start, seen = None, set()
    return spans


def _was_asked(rows: ControlRows, start: int, end: int, seen: set[ControlSource], events: Sequence[Event]) -> bool:
    """Whether a span without operator rows is a cancelled takeover rather than a pause or a start."""
    if start == 0 or seen <= _PAUSE_ONLY:
        return False
    return _last_before(events, TAKEOVER_REQUEST, rows.time_ns[start - 1], rows.time_ns[end - 1]) is not None


def _segment(rows: ControlRows, index: int, run: tuple[int, int], spans: list[tuple[int, int]]) -> Segment:
    start, end = run
    owner = next((i for i, (first, last) in enumerate(spans) if first <= start < last), -1)
    return Segment(
        index=index,
        source=ControlSource(rows.source[start]),
        start_row=start,
        end_row=end,
        start_ns=int(rows.time_ns[start]),
        end_ns=int(rows.time_ns[min(end, len(rows.time_ns) - 1)]),
        intervention=owner,
    )


def _intervention(
    rows: ControlRows, index: int, span: tuple[int, int], info: EpisodeInfo, next_ns: int
) -> Intervention:
    """The intervention of `span`; what is said before `next_ns`, the next one's start, is said of this one."""
    start, end = span
    count = len(rows.time_ns)
    operator = np.flatnonzero(rows.source[start:end] == ControlSource.OPERATOR) + start
    acted = len(operator) > 0
    off_ns = int(rows.time_ns[start])
    first = int(operator[0]) if acted else end
    first_ns = int(rows.time_ns[first]) if acted else None
    last_ns = int(rows.time_ns[min(end, count - 1)])
    before_ns = int(rows.time_ns[start - 1]) if start else info.start_ns
    request = _last_before(info.events, TAKEOVER_REQUEST, before_ns, off_ns)
    release = _last_before(info.events, RELEASE_REQUEST, first_ns or off_ns, last_ns)
    reason = _last_before(info.events, REASON, off_ns, next_ns)
    return Intervention(
        intervention_id=f"{info.id}-{index:03d}",
        index=index,
        trigger=str(request.detail.get("trigger", "operator")) if request else "operator",
        reason=_reason_of(request, reason),
        policy_id=info.policy_id,
        operator_id=info.operator,
        request_ns=request.time_ns if request else off_ns,
        policy_off_ns=off_ns,
        operator_first_ns=first_ns,
        release_ns=release.time_ns if release else None,
        policy_on_ns=int(rows.time_ns[end]) if end < count else None,
        takeover_row=start,
        operator_start_row=first,
        operator_end_row=int(operator[-1]) + 1 if acted else first,
        handover_mode=str(request.detail.get("handover_mode", "none")) if request else "none",
        handover_jump=_jump(rows.sent, first) if acted else None,
        outcome="unknown" if acted else "cancelled",
        closed_by=_closed_by(rows, span, release),
    )


def _reason_of(request: Event | None, reason: Event | None) -> str:
    """Prefer the operator's later word over the request's own."""
    if reason is not None:
        return str(reason.detail.get("reason", "other"))
    return str(request.detail.get("reason", "other")) if request else "other"


def _closed_by(rows: ControlRows, span: tuple[int, int], release: Event | None) -> str:
    if ControlSource.STOPPED in rows.source[span[0] : span[1]]:
        return "safety_stop"
    if release is not None:
        return "release"
    return "episode_end" if span[1] == len(rows.source) else "disconnect"


def _jump(sent: NDArray[np.float64] | None, row: int) -> float | None:
    """Largest joint difference between two consecutive commands at `row` [rad]."""
    if sent is None or row == 0:
        return None
    jump = np.abs(sent[row] - sent[row - 1])
    return float(jump.max()) if np.isfinite(jump).all() else None


def _last_before(events: Sequence[Event], kind: str, after_ns: int, until_ns: int) -> Event | None:
    """Last event of `kind` with after_ns <= time <= until_ns."""
    found = [event for event in events if event.kind == kind and after_ns <= event.time_ns <= until_ns]
    return found[-1] if found else None
