"""Tables of an episode for people: who commanded, interventions, labels. Each is (columns, rows)."""

import json
from typing import Any

from recorder.episode import EpisodeInfo, Label
from recorder.intervals import TimedIntervention, timed_interventions, timed_segments

Rows = list[tuple[object, ...]]
Columns = tuple[str, ...]


def segment_rows(info: EpisodeInfo) -> tuple[Columns, Rows]:
    """Who commanded when."""
    rows: Rows = [
        (
            part.source.name.lower(),
            f"{part.start_s:.3f}",
            f"{part.stop_s - part.start_s:.3f}",
            segment.end_row - segment.start_row,
            part.intervention if part.intervention >= 0 else "",
        )
        for part, segment in zip(timed_segments(info), info.segments, strict=True)
    ]
    return ("source", "from s#", "for s#", "ticks#", "intervention#"), rows


def intervention_rows(info: EpisodeInfo) -> tuple[Columns, Rows]:
    """What every intervention was."""
    columns = ("#", "trigger", "reason", "failure", "asked at s#", "took ms#", "operator s#", "split s#", "closed by")
    return (*columns, "outcome"), [_intervention_row(one) for one in timed_interventions(info)]


def label_rows(info: EpisodeInfo) -> tuple[Columns, Rows]:
    """What was said after the recording, oldest first."""
    rows: Rows = [
        (
            f"{label.time_utc:%Y-%m-%d %H:%M:%S}",
            label.author,
            "" if label.intervention is None else label.intervention,
            label.field,
            label_value(info, label, label.old),
            label_value(info, label, label.new),
        )
        for label in info.labels
    ]
    return ("UTC", "author", "intervention#", "what", "was", "is"), rows


def label_value(info: EpisodeInfo, label: Label, value: Any) -> str:
    """Word a label's value; stamps as seconds from the start of the episode."""
    if value is None or value == "":
        return "-"
    if label.field.endswith("_ns"):
        moments = value if isinstance(value, list) else [value]
        return " to ".join(f"{info.seconds(moment):.3f} s" for moment in moments)
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return value if isinstance(value, str) else json.dumps(value)


def _intervention_row(one: TimedIntervention) -> tuple[object, ...]:
    facts = one.intervention
    lasted = None
    if one.operator_start_s is not None and one.operator_stop_s is not None:
        lasted = one.operator_stop_s - one.operator_start_s
    return (
        facts.index,
        facts.trigger,
        facts.reason,
        facts.failure_entry or "-",
        f"{one.request_s:.3f}",
        f"{(one.takeover_s - one.request_s) * 1e3:.1f}",
        _seconds(lasted),
        _seconds(one.phase_split_s),
        facts.closed_by,
        facts.outcome,
    )


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
