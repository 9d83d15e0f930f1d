"""An episode as lines of text: who commanded when, and what happened."""

from collections.abc import Iterable, Mapping, Sequence

from recorder.episode import EpisodeInfo
from recorder.segments import ControlSource

COMMANDS, NOTHING, WRONG, GAP, OUT = "█", "·", "!", "x", "-"
FAULT = "fault"
MARKS = {
    "start_policy_request": ("P", "policy asked for"),
    "takeover_request": ("T", "takeover asked for"),
    "release_request": ("R", "release asked for"),
    "pause_request": ("p", "pause asked for"),
    "stop_request": ("S", "stop asked for"),
    "outcome": ("O", "outcome given"),
    "reason": ("r", "reason given"),
    "note": ("n", "note"),
    "health": ("h", "stream out of its limits"),
}
"""Event kind -> its character and what it means; several that do not agree on one in a cell show as MANY."""
OTHER, MANY = ("o", "other event"), ("+", "several events")
SILENT = ("phase", "stream_closed", FAULT)
"""Events that have a line of their own, or no moment."""
LEAST_CELLS = 10


def timeline(info: EpisodeInfo, gaps: Mapping[str, Sequence[tuple[int, int]]], width: int) -> list[str]:
    """Draw an episode.

    Args:
        info: The episode.
        gaps: Stream name -> [start, stop) of each gap on the monotonic clock [ns].
        width: Characters of a line.

    Returns:
        The lines, the legend last; none if the episode has no length.
    """
    stop_ns = info.stop_ns if info.stop_ns is not None else max((e.time_ns for e in info.events), default=info.start_ns)
    if stop_ns <= info.start_ns:
        return []
    gaps = {name: spans for name, spans in gaps.items() if spans}
    names = [source.name.lower() for source in ControlSource] + [f"gaps {name}" for name in gaps]
    label = max(map(len, names)) + 2
    scale = _Scale(info.start_ns, stop_ns, max(LEAST_CELLS, width - label))
    rows = [("", scale.axis()), *_source_rows(info, scale)]
    events, meanings = _event_row(info, scale)
    rows += [("events", events)] if meanings else []
    faults = [(event.time_ns, event.time_ns + 1) for event in info.events if event.kind == FAULT]
    rows += [("faults", scale.draw(faults, WRONG))] if faults else []
    rows += [(f"gaps {name}", scale.draw(spans, GAP)) for name, spans in gaps.items()]
    if info.kept_ns is not None:
        start, stop = info.kept_ns
        rows.append(("cut off", scale.draw([(info.start_ns, start), (stop, stop_ns)], OUT)))
    legend = [f"{COMMANDS} commands", *(f"{mark} {meaning}" for mark, meaning in meanings.items())]
    legend += [f"{WRONG} fault"] if faults else []
    legend += [f"{GAP} gap"] if gaps else []
    legend += [f"{OUT} cut off"] if info.kept_ns is not None else []
    return [f"{name:<{label}}{cells}".rstrip() for name, cells in rows] + ["  ".join(legend)]


class _Scale:
    """Time on a line of cells."""

    def __init__(self, start_ns: int, stop_ns: int, cells: int) -> None:
        self._start_ns, self._span_ns, self.cells = start_ns, stop_ns - start_ns, cells

    def cell(self, time_ns: int) -> int:
        """Find the cell of a moment; moments outside lie in the first or the last."""
        return min(self.cells - 1, max(0, (time_ns - self._start_ns) * self.cells // self._span_ns))

    def draw(self, spans: Iterable[tuple[int, int]], mark: str) -> str:
        """Draw spans [start, stop) [ns]; each that is not empty shows in at least one cell."""
        line = [NOTHING] * self.cells
        for start, stop in spans:
            if stop > start:
                first, last = self.cell(start), self.cell(stop - 1)
                line[first : last + 1] = mark * (last + 1 - first)
        return "".join(line)

    def axis(self) -> str:
        """Write seconds at the start, in the middle and at the end."""
        seconds = self._span_ns / 1e9
        ends = ("0 s", f"{seconds / 2:.1f}", f"{seconds:.1f} s")
        free = self.cells - sum(map(len, ends))
        return (" " * max(1, free // 2)).join(ends)


def _source_rows(info: EpisodeInfo, scale: _Scale) -> list[tuple[str, str]]:
    return [
        (
            source.name.lower(),
            scale.draw(((part.start_ns, part.end_ns) for part in info.segments if part.source is source), COMMANDS),
        )
        for source in ControlSource
        if any(part.source is source for part in info.segments)
    ]


def _event_row(info: EpisodeInfo, scale: _Scale) -> tuple[str, dict[str, str]]:
    """Give the line of events, and the meaning of each character in it."""
    line, meanings = [NOTHING] * scale.cells, {}
    for event in info.events:
        if event.kind in SILENT:
            continue
        cell = scale.cell(event.time_ns)
        mark, meaning = MARKS.get(event.kind, OTHER)
        if line[cell] not in (NOTHING, mark):
            mark, meaning = MANY
        line[cell] = mark
        meanings[mark] = meaning
    return "".join(line), meanings
