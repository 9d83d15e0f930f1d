"""Episodes without anybody at the keys: `teleop record --headless`, rehearsals and the demo."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from drivers import clock
from recorder.episode import EpisodeInfo
from recorder.segments import CollectionMode, Outcome
from teleop_app.station.arbiter import Edge
from teleop_app.station.config import ScriptedEdgesConfig, ScriptedSimOperatorConfig
from teleop_app.station.errors import StationError
from teleop_app.station.scripted import TaskJudge
from teleop_app.station.station import Station

log = logging.getLogger(__name__)

POLL_NS = 10_000_000
NOTICED_WITHIN_S = 0.4
"""A first sample is noticed within this time, even where a worker reports it [s]."""
NAME = "automation"


@dataclass(frozen=True, slots=True)
class Plan:
    """How many episodes, and how long one may take."""

    episodes: int
    duration_s: float
    task: str
    first_wait_s: float = 60.0
    """How long a passive episode waits for its first sample [s]."""


class Automation:
    """Records the episodes of a plan, one after another."""

    def __init__(self, station: Station, plan: Plan) -> None:
        """Use a connected and started station."""
        self._station, self._plan = station, plan
        self._interrupted = threading.Event()

    def interrupt(self) -> None:
        """End the running episode, keep it, and record no further one."""
        self._interrupted.set()

    def run(self, on_episode: Callable[[EpisodeInfo], None] = lambda _: None) -> list[EpisodeInfo]:
        """Record; `on_episode` is called after each. Returns the episodes kept."""
        kept: list[EpisodeInfo] = []
        for number in range(self._plan.episodes):
            if self._interrupted.is_set():
                break
            info = self._passive() if self._station.config.mode == "passive" else self._active(number)
            kept.append(info)
            on_episode(info)
        return kept

    def _mode(self, number: int) -> CollectionMode:
        modes = self._station.config.episodes.modes
        return modes[min(number, len(modes) - 1)]

    def _active(self, number: int) -> EpisodeInfo:
        station, mode = self._station, self._mode(number)
        if station.loop.faults:
            raise StationError(f"no further episode: {station.loop.faults[0]}")
        station.begin_attempt(station.config.episodes.seed + number, mode)
        station.session.start(mode, self._plan.task)
        station.set_in_motion(mode, NAME)
        judge = TaskJudge() if isinstance(station.config.operator, ScriptedSimOperatorConfig) else None
        done = self._wait(lambda: judge is not None and self._judged(judge), self._start_edges())
        info = station.session.stop(self._outcome(judge, done=done))
        station.loop.requests.put(Edge.PAUSE, NAME)
        return info

    def _outcome(self, judge: TaskJudge | None, *, done: bool) -> Outcome:
        if done:
            return Outcome.SUCCESS
        if self._interrupted.is_set():
            return Outcome.ABORTED
        return Outcome.UNSET if judge is None else Outcome.FAILURE

    def _judged(self, judge: TaskJudge) -> bool:
        observation = self._station.observe()
        return observation is not None and judge.done(observation)

    def _passive(self) -> EpisodeInfo:
        """Record what a foreign controller does, from its first sample until it falls silent."""
        station, silence_s = self._station, self._station.config.episodes.stop_after_silence_s
        if silence_s is None:
            station.session.start(CollectionMode.PASSIVE, self._plan.task)
            self._wait(lambda: False, self._start_edges())
        else:
            self._wait_for_data()
            station.session.start(CollectionMode.PASSIVE, self._plan.task, before_s=NOTICED_WITHIN_S)
            self._wait(lambda: self._silent_s() > silence_s, self._start_edges())
        return station.session.stop(Outcome.ABORTED if self._interrupted.is_set() else Outcome.UNSET)

    def _wait_for_data(self) -> None:
        before = self._delivered()
        if not self._until(lambda: self._delivered() != before, self._plan.first_wait_s):
            names = ", ".join(stream.name for stream in self._station.hardware.streams)
            faults = [health.fault for health in (s.health() for s in self._station.hardware.streams) if health.fault]
            why = faults[0] if faults else f"nothing has arrived for {self._plan.first_wait_s:.0f} s on {names}"
            raise StationError("no episode was begun: " + ("interrupted" if self._interrupted.is_set() else why))

    def _delivered(self) -> list[int]:
        return [stream.health().count for stream in self._station.hardware.streams]

    def _silent_s(self) -> float:
        """Time since any of the devices that deliver has delivered [s]."""
        ages_s = [health.age_s for health in (stream.health() for stream in self._station.hardware.streams)]
        return min((age_s for age_s in ages_s if age_s >= 0), default=0.0)

    def _start_edges(self) -> list[tuple[int, Edge]]:
        """Scripted requests of the station file as absolute times, counted from now."""
        config = self._station.config.operator
        edges = config.edges if isinstance(config, ScriptedEdgesConfig) else ()
        now_ns = clock.now_ns()
        return sorted((now_ns + round(edge.at_s * 1e9), Edge(edge.request)) for edge in edges)

    def _wait(self, done: Callable[[], bool], edges: list[tuple[int, Edge]]) -> bool:
        """Fire `edges` on time until `done` or the duration is over; return whether it was done."""

        def finished() -> bool:
            while edges and clock.now_ns() >= edges[0][0]:
                self._station.loop.requests.put(edges.pop(0)[1], NAME, trigger="scripted_test")
            return done()

        return self._until(finished, self._plan.duration_s)

    def _until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        deadline_ns = clock.now_ns() + round(timeout_s * 1e9)
        while clock.now_ns() < deadline_ns and not self._interrupted.is_set() and not self._station.loop.faults:
            if condition():
                return True
            self._interrupted.wait(POLL_NS / 1e9)
        return False
