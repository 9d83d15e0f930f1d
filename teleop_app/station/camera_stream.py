"""A camera that is read by a worker process, as one of the session's streams."""

from pathlib import Path

from pydantic import TypeAdapter

from recorder.episode import StreamSummary
from recorder.streams import AnyStreamSpec, StreamRole
from recorder.write_queue import LostRun
from teleop_app.station.health_runs import HealthRun
from teleop_app.station.recorded_streams import Finished, Health, Spec
from teleop_app.station.worker_link import WorkerLink

_SPEC: TypeAdapter[Spec] = TypeAdapter(AnyStreamSpec)


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
        summary = StreamSummary.model_validate(answer["summary"])
        self.link.runs.extend(answer["runs"])
        return Finished(summary, answer["stamp_source"], answer["facts"], lost)

    def health(self) -> Health:
        """Live figures, at most a quarter of a second old, or a fault."""
        said = self.link.health
        return Health(**{**said, "problems": tuple(said["problems"])})

    def take_runs(self) -> tuple[HealthRun, ...]:
        """When it was out of its limits in the open episode, as far as that is over and not taken yet."""
        runs = self.link.runs
        return tuple(HealthRun.of(runs.popleft()) for _ in range(len(runs)))

    def arm_moves(self, *, moving: bool) -> None:
        """Say whether an arm moves, which a picture that stays the same is judged by."""
        self.link.notify("arm_moves", moving=moving)
