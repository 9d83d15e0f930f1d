"""Every device channel that is recorded, wherever it is read: in this process, or in a worker of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from drivers import clock
from drivers.configs import DriverConfig
from drivers.polling import PollingReader
from drivers.protocols import Device
from drivers.samples import JointState, TactileSample
from recorder.episode import StreamSummary
from recorder.streams import ImageStreamSpec, NumericStreamSpec, StreamRole
from recorder.write_queue import LostRun
from teleop_app.station.first_sample import wait_for_first
from teleop_app.station.health import HealthMonitor
from teleop_app.station.health_figures import Subject
from teleop_app.station.health_runs import HealthRun
from teleop_app.station.stream_recorder import StreamRecorder

Spec = NumericStreamSpec | ImageStreamSpec


@dataclass(frozen=True, slots=True)
class Finished:
    """A stream after its episode."""

    summary: StreamSummary
    stamp_source: str
    """Where its stamps really came from."""
    facts: dict[str, Any]
    lost: tuple[LostRun, ...] = ()
    """Samples that could not be recorded."""


@dataclass(frozen=True, slots=True)
class Health:
    """A stream now."""

    rate_hz: float
    age_s: float
    """Negative before the first sample [s]."""
    drops: int
    count: int
    """Samples since the device was connected."""
    fault: str = ""
    """Why it cannot be read or recorded."""
    problems: tuple[str, ...] = ()
    """What is out of its limits, one sentence each."""
    jitter_s: float | None = None
    """Over the last seconds [s]."""
    offset_s: float | None = None
    """Received minus time over the last seconds [s]."""


class RecordedStream(Protocol):
    """One stream, from the session's side."""

    @property
    def name(self) -> str:
        """The stream's name on disk."""
        ...

    @property
    def role(self) -> StreamRole:
        """What it is to a learner."""
        ...

    @property
    def expected_hz(self) -> float:
        """Expected rate [Hz]."""
        ...

    def connect(self) -> None:
        """Open the device, start to read it, and wait for its first sample if it should be there."""
        ...

    def disconnect(self) -> None:
        """Stop reading and release the device."""
        ...

    def keep(self, buffer_s: float) -> None:
        """Keep the last `buffer_s` of the stream while no episode is open [s]."""
        ...

    def spec(self) -> Spec:
        """Describe the stream as of now."""
        ...

    def prepare(self, episode: Path, spec: Spec) -> None:
        """Make its files."""
        ...

    def begin(self, start_ns: int) -> None:
        """Record samples true at or after `start_ns`; also ends a pause."""
        ...

    def suspend(self) -> None:
        """Let samples wait, because the end is about to be set."""
        ...

    def end(self, stop_ns: int) -> None:
        """Samples before `stop_ns` are the last ones."""
        ...

    def finish(self) -> Finished:
        """Close it."""
        ...

    def health(self) -> Health:
        """Live figures."""
        ...

    def take_runs(self) -> tuple[HealthRun, ...]:
        """When it was out of its limits in the open episode, as far as that is over and not taken yet."""
        ...


S = TypeVar("S", JointState, TactileSample)


class LocalStream(Generic[S]):
    """A device that is read by a thread of the station."""

    def __init__(
        self,
        config: DriverConfig,
        device: Device,
        read: Callable[[float], S | None],
        role: StreamRole,
        describe: Callable[["LocalStream[S]"], Spec],
        values: Callable[[S], Any],
    ) -> None:
        """Prepare; `describe` makes the stream's spec, `values` a sample's row."""
        self.config, self.device, self.role = config, device, role
        self._describe: Callable[[LocalStream[S]], Spec] = describe
        self._values: Callable[[S], Any] = values
        self.recorder = StreamRecorder(config.name, config.rate_hz, device.dropped, config.latency_s)
        self.monitor = HealthMonitor(Subject.of(config), device.dropped)
        self.reader: PollingReader[S] = PollingReader(config.name, read, [self._offer])
        self._latency_ns = round(config.latency_s * 1e9)
        self._judges_content = config.health.same_content_s is not None

    @property
    def name(self) -> str:
        """The stream's name on disk."""
        return self.config.name

    @property
    def expected_hz(self) -> float:
        """Expected rate [Hz]."""
        return self.config.rate_hz

    def connect(self) -> None:
        """Open, read, and wait for the first sample unless the device may start later."""
        self.device.connect()
        self.reader.start()
        if getattr(self.config, "wait_for_data", True):
            wait_for_first(self.name, lambda: self.reader.count, lambda: self.reader.error)

    def disconnect(self) -> None:
        """Stop reading and release the device."""
        self.reader.stop()
        self.recorder.finish()
        self.device.disconnect()

    def keep(self, buffer_s: float) -> None:
        """Keep the last `buffer_s` of the stream while no episode is open [s]."""
        self.recorder.keep(buffer_s)

    def spec(self) -> Spec:
        """Describe the stream as of now."""
        return self._describe(self)

    def prepare(self, episode: Path, spec: Spec) -> None:
        """Make its files."""
        self.monitor.prepare()
        self.recorder.prepare(episode, spec)

    def begin(self, start_ns: int) -> None:
        """Record samples true at or after `start_ns`."""
        self.monitor.begin(start_ns)
        self.recorder.begin(start_ns)

    def suspend(self) -> None:
        """Let samples wait, because the end is about to be set."""
        self.recorder.suspend()

    def end(self, stop_ns: int) -> None:
        """Samples before `stop_ns` are the last ones."""
        self.monitor.end(stop_ns)
        self.recorder.end(stop_ns)

    def finish(self) -> Finished:
        """Close it."""
        summary = self.monitor.finish(self.recorder.finish())
        facts = dict(self.device.facts())
        return Finished(summary, self.stamp_source, facts, self.recorder.lost)

    @property
    def stamp_source(self) -> str:
        """Where the newest sample's stamp came from."""
        newest = self.reader.latest
        return newest.stamp_source.value if newest is not None else "not known yet"

    def health(self) -> Health:
        """Live figures."""
        age_s, error = self.reader.age_s(), self.reader.error
        fault = str(error) if error is not None else self.recorder.fault
        figures = self.monitor.figures
        return Health(
            rate_hz=self.reader.rate_hz,
            age_s=age_s if age_s < 1e9 else -1.0,
            drops=self.device.dropped(),
            count=self.reader.count,
            fault=fault,
            problems=tuple(self.monitor.problems(clock.now_ns()).values()),
            jitter_s=figures.jitter_s,
            offset_s=figures.offset_s,
        )

    def take_runs(self) -> tuple[HealthRun, ...]:
        """When it was out of its limits in the open episode, as far as that is over and not taken yet."""
        return self.monitor.take_runs()

    def _offer(self, sample: S) -> None:
        time_ns, values = sample.stamp_ns - self._latency_ns, self._values(sample)
        self.recorder.offer(time_ns, sample.received_ns, values)
        content = b"".join(np.asarray(value).tobytes() for value in values.values()) if self._judges_content else None
        self.monitor.observe(time_ns, sample.received_ns, content)
