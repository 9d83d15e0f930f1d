"""One stream's health, from its own samples alone: live, and summed up over an episode.

A monitor is told of every sample by the thread that read it and needs no thread of its own. What lies between two
samples is found when the second comes; what is missing now, when somebody asks.
"""

import threading
from collections import deque
from collections.abc import Callable

from recorder.episode import StreamSummary
from teleop_app.station.health_figures import FIGURE_PROBLEMS, Figures, Subject, judge, review
from teleop_app.station.health_runs import HealthRun, Problem, RunLog
from teleop_app.station.health_window import StampWindow

JUDGED_EVERY_NS = 250_000_000


class _Repetition:
    """Samples that repeat the one before them in some way, for longer than allowed."""

    def __init__(self, runs: RunLog, problem: Problem, limit_s: float, words: str) -> None:
        self._runs, self._problem, self._limit_s, self._words = runs, problem, limit_s, words
        self._since_ns = 0
        """Arrival of the sample that is repeated; 0 while none is."""

    def note(self, before_ns: int, received_ns: int, *, again: bool) -> None:
        """Take note of a sample: when the one before it arrived, when it arrived, and whether it repeats it."""
        if again:
            self._since_ns = self._since_ns or before_ns
            lasted_s = (received_ns - self._since_ns) / 1e9
            if lasted_s >= self._limit_s:
                self._runs.bad(self._problem, self._since_ns, received_ns, f"{self._words} for {lasted_s:.1f} s.")
        elif self._since_ns:
            self._since_ns = 0
            self._runs.good(self._problem, received_ns)


class HealthMonitor:
    """Watches one stream. `observe` is called by the device's thread, the rest by any."""

    def __init__(self, subject: Subject, dropped: Callable[[], int] = lambda: 0) -> None:
        """Watch `subject`; `dropped` is the driver's running count of lost samples."""
        self.subject = subject
        self.runs = RunLog(subject.name)
        self._dropped = dropped
        self._lock = threading.Lock()
        self._window = StampWindow(subject.window_s)
        self._window_ns = round(subject.window_s * 1e9)
        self._gap_ns = round(subject.gap_s * 1e9)
        self._figures = Figures()
        self._lost: deque[tuple[int, int]] = deque()
        self._last_ns = self._last_received_ns = self._due_ns = 0
        self._stale, self._same = self._repetitions()
        self._content: bytes | None = None
        self._part_ns = self._stop_ns = 0
        self._steps = self._span_ns = 0

    def observe(self, time_ns: int, received_ns: int, content: bytes | None = None) -> None:
        """Take note of one sample.

        Args:
            time_ns: When it was true [ns].
            received_ns: When it reached the host [ns].
            content: Its values, if samples with the same content are to be found.
        """
        with self._lock:
            if self._last_received_ns:
                self._compare(time_ns, received_ns, content)
            self._content, self._last_ns, self._last_received_ns = content, time_ns, received_ns
            self._window.add(time_ns, received_ns)
            if received_ns >= self._due_ns:
                self._due_ns = received_ns + JUDGED_EVERY_NS
                self._judge(received_ns)

    def problems(self, now_ns: int) -> dict[Problem, str]:
        """What is out of its limits now, in a sentence each."""
        found = self.runs.sentences
        with self._lock:
            silent_ns = now_ns - self._last_received_ns if self._last_received_ns else 0
        if silent_ns > self._gap_ns:
            return {Problem.GAP: f"{self.subject.name} has been silent for {silent_ns / 1e9:.1f} s.", **found}
        return found

    @property
    def figures(self) -> Figures:
        """Of the last seconds."""
        return self._figures

    def prepare(self) -> None:
        """Get ready for an episode."""
        self.runs.begin_episode()
        with self._lock:
            self._steps = self._span_ns = 0
            self._window.measure_drift_from_here()

    def begin(self, start_ns: int) -> None:
        """An episode begins, or its pause is over."""
        self.runs.begin(start_ns)
        with self._lock:
            self._part_ns, self._stop_ns = start_ns, 0

    def end(self, stop_ns: int) -> None:
        """A pause begins, or the episode ends."""
        self.runs.end(stop_ns)
        with self._lock:
            self._stop_ns = stop_ns

    def finish(self, summary: StreamSummary, sharpness: float | None = None) -> StreamSummary:
        """The episode is over: add to its summary what it should be known for."""
        with self._lock:
            last_ns, part_ns, stop_ns = self._last_ns, self._part_ns, self._stop_ns
            rate_hz = self._steps * 1e9 / self._span_ns if self._span_ns else None
            self._part_ns = self._stop_ns = 0
        since_ns = max(last_ns, part_ns)
        edges = not self.subject.limits.silent_edges
        if edges and part_ns and stop_ns - since_ns > self._gap_ns + round(self.subject.latency_s * 1e9):
            self.runs.add(Problem.GAP, since_ns, stop_ns, self._gap_sentence(stop_ns - since_ns))
        out_s = self.runs.finish()
        figures = Figures(rate_hz, summary.jitter_s, summary.offset_s, summary.drift_s, summary.drops)
        return summary.model_copy(
            update={
                "warnings": review(self.subject, figures, out_s),
                "out_of_limits_s": {problem.value: total_s for problem, total_s in out_s.items()},
                "sharpness": sharpness,
            }
        )

    def take_runs(self) -> tuple[HealthRun, ...]:
        """What was out of its limits in the episode and ended since the last call."""
        return self.runs.take()

    def _repetitions(self) -> tuple[_Repetition, _Repetition | None]:
        limits = self.subject.limits
        again = f"{self.subject.name} delivers the same {self.subject.unit.removesuffix('s')} again"
        stale = _Repetition(self.runs, Problem.STALE, limits.stale_s, f"{again}, with its old stamp,")
        if limits.same_content_s is None:
            return stale, None
        return stale, _Repetition(self.runs, Problem.SAME_CONTENT, limits.same_content_s, f"{again}, with new stamps,")

    def _compare(self, time_ns: int, received_ns: int, content: bytes | None) -> None:
        """Compare a sample with the one before it."""
        before_ns, step_ns, limits = self._last_received_ns, time_ns - self._last_ns, self.subject.limits
        self._stale.note(before_ns, received_ns, again=step_ns == 0)
        if self._same is not None:
            self._same.note(before_ns, received_ns, again=step_ns != 0 and content == self._content)
        within = self._part_ns and self._last_ns >= self._part_ns and not (self._stop_ns and time_ns >= self._stop_ns)
        if step_ns > self._gap_ns and (within or not limits.silent_edges):
            self.runs.add(Problem.GAP, self._last_ns, time_ns, self._gap_sentence(step_ns))
        if step_ns > 0 and within:
            self._steps += 1
            self._span_ns += step_ns

    def _judge(self, at_ns: int) -> None:
        dropped = self._dropped()
        self._lost.append((at_ns, dropped))
        while at_ns - self._lost[0][0] > self._window_ns:
            self._lost.popleft()
        figures = self._window.figures(dropped - self._lost[0][1])
        if figures is None:
            return
        self._figures = figures
        found = judge(self.subject, figures)
        for problem in FIGURE_PROBLEMS:
            if problem in found:
                self.runs.bad(problem, self._window.start_ns, at_ns, found[problem])
            else:
                self.runs.good(problem, at_ns, self._window_ns)

    def _gap_sentence(self, gap_ns: int) -> str:
        return f"{self.subject.name} delivered nothing for {gap_ns / 1e9:.2f} s."
