"""When a stream was out of its limits: runs with a beginning and an end, one for each time it happened."""

import threading
from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

REMEMBERED = 64
"""So many runs that ended lately wait for an episode that may begin before their end."""


class Problem(StrEnum):
    """A limit that was not kept."""

    RATE = "rate"
    JITTER = "jitter"
    GAP = "gap"
    STALE = "stale"
    SAME_CONTENT = "same_content"
    DROPS = "drops"
    OFFSET = "offset"
    DRIFT = "drift"
    FROZEN = "frozen"
    BLACK = "black"
    SATURATED = "saturated"
    BLURRED = "blurred"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class HealthRun:
    """One stream out of one limit, as it is marked in an episode."""

    stream: str
    problem: Problem
    start_ns: int
    end_ns: int
    sentence: str
    """As it stood at the end."""

    @classmethod
    def of(cls, described: dict[str, Any]) -> "HealthRun":
        """The run that `dataclasses.asdict` described."""
        return cls(**{**described, "problem": Problem(described["problem"])})


class RunLog:
    """Joins findings to runs, and keeps those of the open episode. Safe to use from any thread."""

    def __init__(self, stream: str) -> None:
        """Log for `stream`."""
        self._stream = stream
        self._lock = threading.Lock()
        self._open: dict[Problem, HealthRun] = {}
        self._recent: deque[HealthRun] = deque(maxlen=REMEMBERED)
        self._ready: list[HealthRun] = []
        self._part_ns = self._stop_ns = 0
        """The part of an episode that is being recorded; 0 for none, and for no end yet."""
        self._total_ns: dict[Problem, int] = {}

    def bad(self, problem: Problem, since_ns: int, at_ns: int, sentence: str) -> None:
        """Say that a limit is not kept at `at_ns`; if that is new, it has not been since `since_ns`."""
        with self._lock:
            start_ns = self._open[problem].start_ns if problem in self._open else since_ns
            self._open[problem] = HealthRun(self._stream, problem, start_ns, at_ns, sentence)

    def good(self, problem: Problem, at_ns: int, hold_ns: int = 0) -> None:
        """Say that a limit is kept at `at_ns`; a run ends once that has been so for `hold_ns`."""
        with self._lock:
            run = self._open.get(problem)
            if run is not None and at_ns - run.end_ns >= hold_ns:
                self._end(self._open.pop(problem))

    def add(self, problem: Problem, start_ns: int, end_ns: int, sentence: str) -> None:
        """Log a run that is over already."""
        with self._lock:
            self._end(HealthRun(self._stream, problem, start_ns, end_ns, sentence))

    @property
    def sentences(self) -> dict[Problem, str]:
        """What is out of its limits now."""
        with self._lock:
            return {problem: run.sentence for problem, run in self._open.items()}

    def begin_episode(self) -> None:
        """Forget the sums of the episode before."""
        with self._lock:
            self._total_ns.clear()
            self._ready.clear()

    def begin(self, start_ns: int) -> None:
        """Keep runs from `start_ns` on, also those that began before: an episode begins, or its pause is over."""
        with self._lock:
            self._close_part()
            self._part_ns, self._stop_ns = start_ns, 0
            for run in self._recent:
                self._keep(run)
            self._recent.clear()

    def end(self, stop_ns: int) -> None:
        """Keep runs up to `stop_ns` only: a pause begins, or the episode ends."""
        with self._lock:
            self._stop_ns = stop_ns

    def finish(self) -> dict[Problem, float]:
        """End the episode; return how long each limit was not kept in it [s]."""
        with self._lock:
            self._close_part()
            return {problem: total_ns / 1e9 for problem, total_ns in self._total_ns.items()}

    def take(self) -> tuple[HealthRun, ...]:
        """Runs of the episode that ended since the last call."""
        with self._lock:
            taken, self._ready = tuple(self._ready), []
            return taken

    def _end(self, run: HealthRun) -> None:
        if self._part_ns:
            self._keep(run)
        if not self._part_ns or self._stop_ns:
            self._recent.append(run)

    def _close_part(self) -> None:
        if self._part_ns:
            for run in self._open.values():
                self._keep(run)
        self._part_ns = self._stop_ns = 0

    def _keep(self, run: HealthRun) -> None:
        """Keep the part of `run` that lies within the episode."""
        start_ns = max(run.start_ns, self._part_ns)
        end_ns = min(run.end_ns, self._stop_ns) if self._stop_ns else run.end_ns
        if end_ns > start_ns:
            self._ready.append(replace(run, start_ns=start_ns, end_ns=end_ns))
            self._total_ns[run.problem] = self._total_ns.get(run.problem, 0) + end_ns - start_ns
