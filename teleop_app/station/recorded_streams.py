"""Every device channel that is recorded, wherever it is read: in this process, or in a worker of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from drivers.configs import DriverConfig
from drivers.polling import PollingReader
from drivers.protocols import Device
from drivers.samples import JointState, TactileSample
from recorder.episode import StreamSummary
from recorder.streams import AnyStreamSpec, ImageStreamSpec, NumericStreamSpec, StreamRole
from recorder.write_queue import LostRun
from teleop_app.station.first_sample import wait_for_first
from teleop_app.station.stream_recorder import StreamRecorder
from teleop_app.station.worker_link import WorkerLink

Spec = NumericStreamSpec | ImageStreamSpec
_SPEC: TypeAdapter[Spec] = TypeAdapter(AnyStreamSpec)


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
        self.reader: PollingReader[S] = PollingReader(config.name, read, [self._offer])
        self._latency_ns = round(config.latency_s * 1e9)

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
        self.recorder.prepare(episode, spec)

    def begin(self, start_ns: int) -> None:
        """Record samples true at or after `start_ns`."""
        self.recorder.begin(start_ns)

    def suspend(self) -> None:
        """Let samples wait, because the end is about to be set."""
        self.recorder.suspend()

    def end(self, stop_ns: int) -> None:
        """Samples before `stop_ns` are the last ones."""
        self.recorder.end(stop_ns)

    def finish(self) -> Finished:
        """Close it."""
        summary = self.recorder.finish()
        return Finished(summary, self.stamp_source, dict(self.device.facts()), self.recorder.lost)

    @property
    def stamp_source(self) -> str:
        """Where the newest sample's stamp came from."""
        newest = self.reader.latest
        return newest.stamp_source.value if newest is not None else "not known yet"

    def health(self) -> Health:
        """Live figures."""
        age_s, error = self.reader.age_s(), self.reader.error
        fault = str(error) if error is not None else self.recorder.fault
        return Health(
            self.reader.rate_hz, age_s if age_s < 1e9 else -1.0, self.device.dropped(), self.reader.count, fault
        )

    def _offer(self, sample: S) -> None:
        self.recorder.offer(sample.stamp_ns - self._latency_ns, sample.received_ns, self._values(sample))


class CameraStream:
    """A camera in a worker process."""

    role = StreamRole.CAMERA

    def __init__(self, link: WorkerLink) -> None:
        """Use the worker behind `link`."""
        self.link = link
        self.name = link.name
        self.expected_hz = link.config.rate_hz

    def connect(self) -> None:
        """Start the worker and let it open the camera."""
        self.link.start()
        self.link.connect()

    def disconnect(self) -> None:
        """End the worker."""
        self.link.stop()

    def keep(self, buffer_s: float) -> None:
        """Keep the last `buffer_s` of the stream while no episode is open [s]."""
        self.link.ask("keep", buffer_s=buffer_s)

    def spec(self) -> Spec:
        """Describe the stream as of now."""
        return _SPEC.validate_python(self.link.ask("spec"))

    def prepare(self, episode: Path, spec: Spec) -> None:
        """Make its files."""
        self.link.ask("prepare", episode=str(episode), spec=spec.model_dump(mode="json"))

    def begin(self, start_ns: int) -> None:
        """Record samples true at or after `start_ns`."""
        self.link.ask("begin", start_ns=start_ns)

    def suspend(self) -> None:
        """Let samples wait, because the end is about to be set."""
        self.link.ask("suspend")

    def end(self, stop_ns: int) -> None:
        """Samples before `stop_ns` are the last ones."""
        self.link.ask("end", stop_ns=stop_ns)

    def finish(self) -> Finished:
        """Close it."""
        answer = self.link.ask("finish")
        lost = tuple(LostRun(**run) for run in answer["lost"])
        return Finished(StreamSummary.model_validate(answer["summary"]), answer["stamp_source"], answer["facts"], lost)

    def health(self) -> Health:
        """Live figures, at most a quarter of a second old."""
        return Health(**self.link.health)
