"""Whether a stream is well, in one word and one sentence; the limits of the health strip stand here."""

import math
from dataclasses import dataclass
from enum import StrEnum

from teleop_app.station.messages import LoopStatus, StreamStatus

SLOW_BELOW, FAST_ABOVE = 0.95, 1.10
"""Measured over expected rate, outside which a stream is shown in amber."""
SILENT_PERIODS, SILENT_MIN_S = 5.0, 0.5
"""A stream is silent after so many expected periods, and never before so long [s]."""
LATE_P99_MS = 1.0
DISK_LOW_S, DISK_OUT_S = 1800.0, 300.0


class Level(StrEnum):
    """How much attention something needs."""

    OK = "ok"
    AMBER = "amber"
    RED = "red"
    QUIET = "quiet"
    """Not known."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a cell shows."""

    level: Level
    text: str
    """A figure, or the age in words."""
    sentence: str
    """For the tooltip."""


def judge(stream: StreamStatus) -> Verdict:
    """Judge one stream."""
    facts = f"{stream.name}: {stream.rate_hz:.1f} of {stream.expected_hz:g} Hz expected, {stream.drops} dropped."
    age_s = stream.age_s
    if age_s < 0 or math.isinf(age_s):
        return Verdict(Level.RED, "never", stream.fault or f"{stream.name} has delivered nothing yet.")
    if age_s > max(SILENT_MIN_S, SILENT_PERIODS / max(stream.expected_hz, 1e-9)):
        return Verdict(Level.RED, age_text(age_s), stream.fault or f"{stream.name} is silent for {age_s:.1f} s.")
    ratio = stream.rate_hz / stream.expected_hz if stream.expected_hz > 0 else 1.0
    figure = f"{stream.rate_hz:.1f}" if stream.expected_hz < 100 else f"{stream.rate_hz:.0f}"
    if not SLOW_BELOW <= ratio <= FAST_ABOVE:
        return Verdict(Level.AMBER, figure, f"{stream.fault} {facts}".strip())
    return Verdict(Level.RED if stream.fault else Level.OK, figure, stream.fault or facts)


def judge_loop(loop: LoopStatus) -> Verdict:
    """Judge the control loop's punctuality."""
    level = Level.AMBER if loop.lateness_p99_ms > LATE_P99_MS else Level.OK
    sentence = (
        f"Control loop: {loop.rate_hz:.1f} Hz, 99 of 100 ticks less than {loop.lateness_p99_ms:.2f} ms late, "
        f"{loop.missed} missed, {loop.clamps} commands altered by limits."
    )
    missed = f" · {loop.missed} missed" if loop.missed else ""
    return Verdict(level, f"{loop.lateness_p99_ms:.1f} ms{missed}", sentence)


def judge_disk(free_s: float | None) -> Verdict:
    """Judge the recording time left."""
    if free_s is None:
        return Verdict(Level.QUIET, "not known", "The recording time left is known once something was recorded.")
    level = Level.RED if free_s < DISK_OUT_S else Level.AMBER if free_s < DISK_LOW_S else Level.OK
    minutes = int(free_s // 60)
    text = f"{minutes // 60} h {minutes % 60:02d} m" if minutes >= 60 else f"{minutes} m"
    return Verdict(level, text, f"Disk for {text} of recording at the measured rate.")


def age_text(age_s: float) -> str:
    """An age, short: 2.4 s, 71 s, 5 m."""
    if age_s < 10:
        return f"{age_s:.1f} s"
    return f"{age_s:.0f} s" if age_s < 100 else f"{age_s / 60:.0f} m"
