"""The control loop's own stream: one row a tick, recorded like any other."""

from pathlib import Path

from drivers import clock
from drivers.configs import HealthLimits
from recorder.streams import StreamRole
from teleop_app.station.health_figures import Figures, Subject, review
from teleop_app.station.health_runs import HealthRun
from teleop_app.station.recorded_streams import Finished, Health, Spec
from teleop_app.station.recording import CONTROL_STREAM, control_spec
from teleop_app.station.stream_recorder import StreamRecorder
from teleop_app.station.tick import TickRecord


class ControlStream:
    """Takes ticks from the loop's thread."""

    name = CONTROL_STREAM
    role = StreamRole.CONTROL

    def __init__(self, rate_hz: float, joints: tuple[str, ...], limits: HealthLimits) -> None:
        """Record ticks at `rate_hz` with vectors of `joints`, none in a passive station, and judge them by `limits`."""
        self.expected_hz = rate_hz
        self._joints = joints
        self._recorder = StreamRecorder(self.name, rate_hz)
        self._subject = Subject(self.name, "ticks", rate_hz, limits)
        self._count, self._last_ns = 0, 0

    def take(self, tick: TickRecord) -> None:
        """Record one tick at the time at which it began."""
        now_ns = tick.inputs.now_ns
        self._recorder.offer(now_ns, now_ns, tick.values(len(self._joints)))
        self._count, self._last_ns = self._count + 1, now_ns

    def connect(self) -> None:
        """Nothing to open."""

    def disconnect(self) -> None:
        """Close an open episode's stream."""
        self._recorder.finish()

    def keep(self, buffer_s: float) -> None:
        """Keep the last `buffer_s` of ticks while no episode is open [s]."""
        self._recorder.keep(buffer_s)

    def spec(self) -> Spec:
        """Describe the stream."""
        return control_spec(self.expected_hz, self._joints)

    def prepare(self, episode: Path, spec: Spec) -> None:
        """Make its files."""
        self._recorder.prepare(episode, spec)

    def begin(self, start_ns: int) -> None:
        """Record ticks at or after `start_ns`."""
        self._recorder.begin(start_ns)

    def suspend(self) -> None:
        """Let ticks wait, because the end is about to be set."""
        self._recorder.suspend()

    def end(self, stop_ns: int) -> None:
        """Ticks before `stop_ns` are the last ones."""
        self._recorder.end(stop_ns)

    def finish(self) -> Finished:
        """Close it."""
        summary = self._recorder.finish()
        rate_hz = None if summary.gaps else summary.rate_hz  # a pause is a gap, and no fault of the loop
        figures = Figures(rate_hz, summary.jitter_s, drops=summary.drops)
        summary = summary.model_copy(update={"warnings": review(self._subject, figures, {})})
        return Finished(summary, "host", {}, self._recorder.lost)

    def health(self) -> Health:
        """Age and count; the loop itself measures its punctuality."""
        age_s = (clock.now_ns() - self._last_ns) / 1e9 if self._count else -1.0
        return Health(self.expected_hz, age_s, 0, self._count, self._recorder.fault)

    def take_runs(self) -> tuple[HealthRun, ...]:
        """Nothing: the loop's own figures say when it was late."""
        return ()
