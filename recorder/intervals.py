"""Segments and interventions in seconds from the start of the recording."""

from dataclasses import dataclass

from recorder.episode import EpisodeInfo, Intervention
from recorder.segments import ControlSource


@dataclass(frozen=True, slots=True)
class TimedSegment:
    """A run of one control source."""

    source: ControlSource
    start_s: float
    stop_s: float
    """First moment of the next segment, or the last tick [s]."""
    intervention: int
    """Index of the intervention that it belongs to; -1 outside."""


@dataclass(frozen=True, slots=True)
class TimedIntervention:
    """An intervention and its edges; None where an edge never came."""

    intervention: Intervention
    """What else is known of it."""
    request_s: float
    takeover_s: float
    """The first tick that no longer sent the policy's command [s]."""
    operator_start_s: float | None
    operator_stop_s: float | None
    """First moment after the operator's last command, or the last tick [s]."""
    phase_split_s: float | None
    """Where recovery ends and correction begins [s]."""
    release_s: float | None
    policy_on_s: float | None


def timed_segments(info: EpisodeInfo) -> tuple[TimedSegment, ...]:
    """Give the segments of an episode in order."""
    return tuple(
        TimedSegment(part.source, info.seconds(part.start_ns), info.seconds(part.end_ns), part.intervention)
        for part in info.segments
    )


def timed_interventions(info: EpisodeInfo) -> tuple[TimedIntervention, ...]:
    """Give the interventions of an episode in order."""
    return tuple(_timed(info, one) for one in info.interventions)


def operator_interval(info: EpisodeInfo, intervention: int) -> tuple[int, int] | None:
    """Find when the operator commanded within an intervention, [start, stop) [ns]; None if never."""
    acted = [
        part for part in info.segments if part.intervention == intervention and part.source is ControlSource.OPERATOR
    ]
    return (acted[0].start_ns, acted[-1].end_ns) if acted else None


def _timed(info: EpisodeInfo, one: Intervention) -> TimedIntervention:
    def seconds(time_ns: int | None) -> float | None:
        return None if time_ns is None else info.seconds(time_ns)

    start, stop = operator_interval(info, one.index) or (None, None)
    return TimedIntervention(
        intervention=one,
        request_s=info.seconds(one.request_ns),
        takeover_s=info.seconds(one.policy_off_ns),
        operator_start_s=seconds(start),
        operator_stop_s=seconds(stop),
        phase_split_s=seconds(one.phase_split_ns),
        release_s=seconds(one.release_ns),
        policy_on_s=seconds(one.policy_on_ns),
    )
