"""What health means for an episode: whether it may begin, and what is marked in it."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from teleop_app.station.config import HealthGate
from teleop_app.station.recorded_streams import RecordedStream

HEALTH = "health"
"""Kind of the events."""


def refusal(gate: HealthGate, streams: Iterable[RecordedStream]) -> str:
    """Why no episode may begin now, one sentence; empty if one may."""
    if gate is not HealthGate.REFUSE:
        return ""
    found = [sentence for stream in streams for sentence in _out_of_limits(stream)]
    if not found:
        return ""
    more = f" There {'is' if len(found) == 2 else 'are'} {len(found) - 1} more of the kind." if found[1:] else ""
    return f"{found[0]}{more} No episode is begun until that is well (episodes.health_gate: refuse)."


def _out_of_limits(stream: RecordedStream) -> tuple[str, ...]:
    health = stream.health()
    return (health.fault, *health.problems) if health.fault else health.problems


def mark(gate: HealthGate, streams: Iterable[RecordedStream], note: Callable[[int, str, dict[str, Any]], None]) -> None:
    """Note every run out of limits that is over, as one event each; none if the gate is off.

    Args:
        gate: The station's.
        streams: Whose runs are taken.
        note: Takes time [ns], kind and detail of an event.
    """
    for run in [run for stream in streams for run in stream.take_runs()]:
        if gate is not HealthGate.OFF:
            duration_s = (run.end_ns - run.start_ns) / 1e9
            note(run.start_ns, HEALTH, {**asdict(run), "duration_s": duration_s})
