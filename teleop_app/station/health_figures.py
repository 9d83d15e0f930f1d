"""What a stream is judged by, and the sentences for it: the same for the last seconds and for a whole episode."""

from dataclasses import dataclass

from drivers.configs import DriverConfig, HealthLimits
from teleop_app.station.health_runs import Problem

WINDOW_PERIODS = 10
"""A slow stream is judged over so many periods at the least."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A stream that is judged."""

    name: str
    unit: str
    """What it delivers, in the plural."""
    rate_hz: float
    limits: HealthLimits
    latency_s: float = 0.0

    @classmethod
    def of(cls, config: DriverConfig, unit: str = "samples") -> "Subject":
        """The stream of a device."""
        return cls(config.name, unit, config.rate_hz, config.health, config.latency_s)

    @property
    def gap_s(self) -> float:
        """Longest interval that is well [s]."""
        return max(self.limits.gap_s, self.limits.gap_periods / self.rate_hz)

    @property
    def window_s(self) -> float:
        """How much of the stream is judged at a time [s]."""
        return max(self.limits.window_s, WINDOW_PERIODS / self.rate_hz)


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured; None where there was too little to measure."""

    rate_hz: float | None = None
    jitter_s: float | None = None
    """95th percentile of |interval - median interval| [s]."""
    offset_s: float | None = None
    """Median of received minus time [s]."""
    drift_s: float | None = None
    """The offset less what it was at first [s]."""
    drops: int = 0


FIGURE_PROBLEMS = (Problem.RATE, Problem.JITTER, Problem.OFFSET, Problem.DRIFT, Problem.DROPS)
"""What `judge` finds."""


def judge(subject: Subject, figures: Figures) -> dict[Problem, str]:
    """Every figure that is out of its limit, in a sentence."""
    found = {
        Problem.RATE: _rate(subject, figures.rate_hz),
        Problem.JITTER: _jitter(subject, figures.jitter_s),
        Problem.OFFSET: _offset(subject, figures.offset_s),
        Problem.DRIFT: _drift(subject, figures.drift_s),
        Problem.DROPS: _drops(subject, figures.drops),
    }
    return {problem: sentence for problem, sentence in found.items() if sentence}


def _rate(subject: Subject, rate_hz: float | None) -> str:
    limits = subject.limits
    if rate_hz is None or limits.slow_below <= rate_hz / subject.rate_hz <= limits.fast_above:
        return ""
    return f"{subject.name} delivers {rate_hz:.1f} of {subject.rate_hz:g} {subject.unit} a second."


def _jitter(subject: Subject, jitter_s: float | None) -> str:
    limit_s = subject.limits.jitter_periods / subject.rate_hz
    if jitter_s is None or jitter_s <= limit_s:
        return ""
    return (
        f"{subject.name} is irregular: 5 of 100 intervals differ by more than {jitter_s * 1e3:.1f} ms from the median; "
        f"{limit_s * 1e3:.1f} ms are allowed."
    )


def _offset(subject: Subject, offset_s: float | None) -> str:
    if offset_s is None:
        return ""
    late_s = offset_s - subject.latency_s
    if late_s > subject.limits.offset_s:
        return (
            f"{subject.unit.capitalize()} of {subject.name} arrive {offset_s:.3f} s after their stamps; "
            f"{subject.limits.offset_s + subject.latency_s:.3f} s are allowed."
        )
    if late_s < -subject.limits.future_s:
        return f"Stamps of {subject.name} lie {-late_s:.3f} s in the future; check its clock."
    return ""


def _drift(subject: Subject, drift_s: float | None) -> str:
    if drift_s is None or abs(drift_s) <= subject.limits.drift_s:
        return ""
    return (
        f"The clock of {subject.name} has moved by {drift_s:+.3f} s against the host's; "
        f"{subject.limits.drift_s:.3f} s are allowed."
    )


def _drops(subject: Subject, drops: int) -> str:
    return f"{subject.name} has lost {drops} {subject.unit}." if drops > subject.limits.drops else ""


WORDS = {
    Problem.RATE: "was out of its rate",
    Problem.JITTER: "was irregular",
    Problem.GAP: "delivered nothing",
    Problem.STALE: "repeated one of its {unit} with the old stamp",
    Problem.SAME_CONTENT: "delivered the same content",
    Problem.DROPS: "lost {unit}",
    Problem.OFFSET: "had its stamps off",
    Problem.DRIFT: "had its clock moved",
    Problem.FROZEN: "showed the same picture while the arm moved",
    Problem.BLACK: "was black",
    Problem.SATURATED: "was overexposed",
    Problem.BLURRED: "was blurred",
    Problem.UNREADABLE: "sent pictures that cannot be decoded",
}


def review(subject: Subject, figures: Figures, out_s: dict[Problem, float]) -> tuple[str, ...]:
    """What an episode should be known for: figures over all of it, then what was out of its limits for a while.

    Args:
        subject: The stream.
        figures: Over the whole episode.
        out_s: How long each limit was not kept [s].
    """
    found = judge(subject, figures)
    for problem, total_s in out_s.items():
        if problem not in found:
            found[problem] = f"{subject.name} {WORDS[problem].format(unit=subject.unit)} for {total_s:.2f} s."
    return tuple(found.values())
