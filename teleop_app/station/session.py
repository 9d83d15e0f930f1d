"""Episodes, one after another: start, stop, label, discard. Files are made and closed here, in one thread at a time."""

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from drivers import clock
from drivers.errors import DriverError
from recorder.episode import Anchor, EpisodeInfo, Event, StreamSummary
from recorder.episode_writer import EpisodeWriter, NewEpisode
from recorder.errors import RecorderError
from recorder.segments import CollectionMode, Outcome
from teleop_app import __version__
from teleop_app.station import health_gate
from teleop_app.station.config import StationConfig
from teleop_app.station.disk import DiskGauge
from teleop_app.station.errors import RequestRefusedError
from teleop_app.station.recorded_streams import Finished, RecordedStream
from teleop_app.station.recording import expected_bytes_s
from teleop_app.station.trash import Trash

log = logging.getLogger(__name__)

ANCHOR_PERIOD_NS = 10_000_000_000
R = TypeVar("R")


class Session:
    """The recording side of a station. Public methods may be called from any thread; they take turns."""

    def __init__(self, config: StationConfig, collection: Path, streams: Sequence[RecordedStream]) -> None:
        """Record `streams` of the station `config` into `collection`."""
        self.config, self.collection = config, collection
        self.task = config.task
        self.policy_id = ""
        self._streams = tuple(streams)
        self._turn = threading.RLock()
        self._writer: EpisodeWriter | None = None
        self._mode = CollectionMode.TELEOP_DEMO
        self._start_ns = self._stop_ns = self._anchored_ns = 0
        self._outcome = Outcome.UNSET
        self._paused = False
        episodes = config.episodes
        self.disk = DiskGauge(collection, round(episodes.least_free_mb * 1e6), 60 * episodes.least_free_minutes)
        self.trash = Trash(collection)
        self.last: EpisodeInfo | None = None
        """The last episode that was closed and kept."""
        self.last_path: Path | None = None
        self.kept = 0
        """Episodes kept since the session began."""
        self.message = ""
        """What became of the last episode, one sentence."""
        self.save_s = 0.0
        """How long the last stop took, from the request to the closed episode [s]."""

    @property
    def recording(self) -> bool:
        """Whether an episode is open."""
        return self._writer is not None

    @property
    def index(self) -> int | None:
        """Index of the open episode."""
        writer = self._writer
        return writer.index if writer is not None else None

    @property
    def mode(self) -> CollectionMode:
        """Collection mode of the open or the last episode."""
        return self._mode

    @property
    def recording_s(self) -> float:
        """How long the open episode has been recorded [s]."""
        return (clock.now_ns() - self._start_ns) / 1e9 if self.recording else 0.0

    def start(self, mode: CollectionMode, task: str | None = None, *, before_s: float = 0.0) -> EpisodeWriter:
        """Begin an episode as of now, or `before_s` ago: the streams' buffers still hold what came since then.

        Raises:
            RequestRefusedError: one is open already, there is no task, or the disk is nearly full.
            DriverError: a stream cannot be recorded; nothing is left on disk.
        """
        with self._turn:
            before_s = max(before_s, self.config.episodes.keep_before_s)
            start_ns = max(clock.now_ns() - round(before_s * 1e9), self._stop_ns)
            self._check_startable(task)
            anchor = clock.read_anchor()
            specs = self._all(lambda stream: stream.spec())
            self.disk.expect(sum(map(expected_bytes_s, specs)))
            writer = EpisodeWriter.create(
                self.collection,
                NewEpisode(
                    start_ns=start_ns,
                    utc_ns=start_ns - anchor.monotonic_ns + anchor.utc_ns,
                    task=self.task,
                    collection_mode=mode,
                    operator=self.config.operator_id,
                    policy_id=self.policy_id if mode is CollectionMode.INTERVENTION else "",
                    app_version=__version__,
                    station=self.config.as_json(),
                    stream_specs=tuple(specs),
                    anchors=(Anchor(**asdict(anchor)),),
                ),
            )
            try:
                by_name = {spec.name: spec for spec in specs}
                self._all(lambda stream: stream.prepare(writer.path, by_name[stream.name]))
                self._all(lambda stream: stream.begin(start_ns))
            except (DriverError, RecorderError, OSError):
                self._each(lambda stream: stream.finish())
                writer.discard()
                raise
            self._mode, self._start_ns, self._anchored_ns = mode, start_ns, start_ns
            self._outcome, self._writer = Outcome.UNSET, writer
            return writer

    def stop(self, outcome: Outcome | None = None) -> EpisodeInfo:
        """Close the open episode and keep it."""
        with self._turn:
            asked_ns = clock.now_ns()
            writer = self._need_open()
            stop_ns, summaries = self._close_streams(writer)
            info = writer.finish(stop_ns, summaries, outcome or self._outcome)
            self._writer, self._stop_ns = None, stop_ns
            self.save_s = (clock.now_ns() - asked_ns) / 1e9
            self.last, self.last_path = info, writer.path
            self.kept += 1
            self.trash.count()
            takeovers = len(info.interventions)
            self.message = (
                f"Episode {info.index} kept: {info.duration_s:.1f} s, "
                f"{takeovers} intervention{'' if takeovers == 1 else 's'}, saved in {self.save_s * 1e3:.0f} ms."
            )
            return info

    def discard(self, episode_id: str | None = None) -> Path:
        """Move an episode to the trash: the one of that id, or else the open one, or else the last one kept."""
        with self._turn:
            writer = self._writer
            if writer is not None and episode_id in (None, writer.id):
                self._close_streams(writer)
                self._writer = None
                trashed = self.trash.note(writer.discard())
            elif episode_id is not None or self.last_path is not None:
                trashed = self.trash.put(episode_id or self.last_path or "")
            else:
                raise RequestRefusedError("there is no episode of this session to discard; choose one of the list")
            if self.last_path is not None and trashed.name == self.last_path.name:
                self.last_path, self.last, self.kept = None, None, self.kept - 1
            self.message = f"{trashed.stem} is in the trash; it can be brought back."
            return trashed

    def undo_discard(self, episode_id: str | None = None) -> Path:
        """Bring an episode back: the one of that id, or else the last one discarded."""
        with self._turn:
            restored = self.trash.restore(episode_id)
            self.message = f"{restored.stem} is back."
            return restored

    def pause(self) -> None:
        """Record nothing until `resume`: an explicit gap in every stream, marked by two events."""
        with self._turn:
            writer = self._need_open()
            if self._paused:
                raise RequestRefusedError("recording is paused already")
            self._paused = True
            stop_ns = self._suspend()
            self._all(lambda stream: stream.end(stop_ns))
            writer.event(Event(time_ns=stop_ns, kind="recording_paused"))

    def resume(self) -> None:
        """Record again after `pause`."""
        with self._turn:
            writer = self._need_open()
            if not self._paused:
                raise RequestRefusedError("recording is not paused")
            self._paused = False
            start_ns = clock.now_ns()
            self._all(lambda stream: stream.begin(start_ns))
            writer.event(Event(time_ns=start_ns, kind="recording_resumed"))

    @property
    def paused(self) -> bool:
        """Whether an episode is open and recording is paused."""
        return self._paused and self.recording

    def mark(self, outcome: Outcome) -> None:
        """Say how the open episode ends."""
        with self._turn:
            self._need_open()
            self._outcome = outcome
            self.note_now("outcome", {"outcome": outcome.value})

    def note_event(self, time_ns: int, kind: str, detail: dict[str, Any]) -> None:
        """Add an event to the open episode, if there is one; called by any thread, also the control loop's."""
        writer = self._writer
        if writer is not None:
            writer.event(Event(time_ns=time_ns, kind=kind, detail=detail))

    def note_now(self, kind: str, detail: dict[str, Any]) -> None:
        """Add an event as of now."""
        self.note_event(clock.now_ns(), kind, detail)

    def keep_house(self) -> None:
        """Once a second: the next clock anchor when it is due, health, the disk; gives up before it is full."""
        with self._turn:
            self._mark_health()
        writer, now_ns = self._writer, clock.now_ns()
        self.disk.observe(recording=writer is not None)
        if writer is not None and self.disk.exhausted():
            self.note_now("fault", {"fault": f"The disk of {self.collection} is nearly full; the episode was closed."})
            self.stop()
            self.message = f"The disk is nearly full. {self.message}"
            return
        if writer is not None and now_ns - self._anchored_ns >= ANCHOR_PERIOD_NS:
            self._anchored_ns = now_ns
            writer.anchor(Anchor(**asdict(clock.read_anchor())))

    def close(self) -> None:
        """Close and keep an open episode, because the station ends."""
        with self._turn:
            if self.recording:
                self.stop(Outcome.ABORTED if self._outcome is Outcome.UNSET else self._outcome)

    def _check_startable(self, task: str | None) -> None:
        self.task = task or self.task
        if self.recording:
            raise RequestRefusedError(f"episode {self.index} is being recorded; stop it first")
        if not self.task:
            raise RequestRefusedError("the episode needs a task: say what is to be done")
        if refusal := self.disk.refusal() or health_gate.refusal(self.config.episodes.health_gate, self._streams):
            raise RequestRefusedError(refusal)

    def _need_open(self) -> EpisodeWriter:
        if self._writer is None:
            raise RequestRefusedError("no episode is being recorded")
        return self._writer

    def _close_streams(self, writer: EpisodeWriter) -> tuple[int, dict[str, StreamSummary]]:
        """End and close every stream at once; a stream that fails is noted and repaired from disk by the writer.

        The end is set once every stream waits, so that no stream has already recorded beyond it.

        Returns:
            The end of the episode [ns], and the summary of every stream that was closed.
        """
        stop_ns = self._suspend()
        self._paused = False
        self._each(lambda stream: stream.end(stop_ns))
        summaries: dict[str, StreamSummary] = {}
        for stream, result in zip(self._streams, self._each(lambda stream: stream.finish()), strict=True):
            if isinstance(result, Finished):
                detail = {"stream": stream.name, "stamp_source": result.stamp_source, "facts": result.facts}
                writer.event(Event(time_ns=stop_ns, kind="stream_closed", detail=detail))
                for run in result.lost:
                    lost = {"stream": stream.name, **asdict(run)}
                    writer.event(Event(time_ns=run.first_ns, kind="samples_lost", detail=lost))
                summaries[stream.name] = result.summary
            else:
                log.warning("%s: %s", stream.name, result)
                detail = {"fault": f"{stream.name} was not closed: {result}"}
                writer.event(Event(time_ns=stop_ns, kind="fault", detail=detail))
        self._mark_health()
        writer.anchor(Anchor(**asdict(clock.read_anchor())))
        return stop_ns, summaries

    def _mark_health(self) -> None:
        health_gate.mark(self.config.episodes.health_gate, self._streams, self.note_event)

    def _suspend(self) -> int:
        """Let every stream wait; return a time that none has recorded beyond [ns]."""
        self._each(lambda stream: stream.suspend())
        return clock.now_ns()

    def _each(self, do: Callable[[RecordedStream], R]) -> list[R | Exception]:
        """Do the same with every stream at the same time; a device's failure takes its place in the results."""
        with ThreadPoolExecutor(max_workers=len(self._streams)) as pool:
            return list(pool.map(lambda stream: _caught(do, stream), self._streams))

    def _all(self, do: Callable[[RecordedStream], R]) -> list[R]:
        """Do the same with every stream at the same time; raise the first failure."""
        results: list[R] = []
        for result in self._each(do):
            if isinstance(result, Exception):
                raise result
            results.append(result)
        return results


def _caught(do: Callable[[RecordedStream], R], stream: RecordedStream) -> R | Exception:
    try:
        return do(stream)
    except (DriverError, RecorderError, OSError) as error:
        return error
