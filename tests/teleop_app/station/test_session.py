"""Episodes one after another, through the real recorder, with streams that the test drives."""

from pathlib import Path

import pytest

from drivers import clock
from drivers.errors import DriverError
from recorder.collection import list_episodes
from recorder.errors import RecorderError
from recorder.reader import open_episode
from recorder.segments import CollectionMode, EpisodeState, Outcome
from recorder.streams import FieldSpec, NumericStreamSpec
from teleop_app.station.config import StationConfig
from teleop_app.station.errors import RequestRefusedError
from teleop_app.station.health_runs import HealthRun
from teleop_app.station.recorded_streams import Finished, Health, Spec
from teleop_app.station.session import Session
from teleop_app.station.stream_recorder import StreamRecorder

CONFIG = StationConfig.model_validate(
    {"station": "bench", "task": "stack", "follower": "arm", "devices": [{"driver": "sim_arm", "name": "arm"}]}
)


class Stream:
    """A stream that delivers when the test says so, and fails when told to."""

    role = "state"
    expected_hz = 100.0

    def __init__(self, name: str = "arm", fails_at: str = "") -> None:
        self.name, self.fails_at = name, fails_at
        self.recorder = StreamRecorder(name, self.expected_hz)

    def deliver(self, count: int = 1) -> None:
        for _ in range(count):
            now_ns = clock.now_ns()
            self.recorder.offer(now_ns, now_ns, {"position": 1.0})

    def _maybe_fail(self, verb: str) -> None:
        if verb == self.fails_at:
            raise DriverError(f"{self.name}: its process has ended")

    def spec(self) -> Spec:
        return NumericStreamSpec(name=self.name, rate_hz=self.expected_hz, fields=(FieldSpec(name="position"),))

    def prepare(self, episode: Path, spec: Spec) -> None:
        self._maybe_fail("prepare")
        self.recorder.prepare(episode, spec)

    def begin(self, start_ns: int) -> None:
        self.recorder.begin(start_ns)

    def suspend(self) -> None:
        self.recorder.suspend()

    def end(self, stop_ns: int) -> None:
        self.recorder.end(stop_ns)

    def finish(self) -> Finished:
        summary = self.recorder.finish()
        self._maybe_fail("finish")
        return Finished(summary, "host", {})

    def take_runs(self) -> tuple[HealthRun, ...]:
        return ()

    def health(self) -> Health:
        return Health(100.0, 0.0, 0, 0)


def make(tmp_path: Path, *streams: Stream) -> Session:
    return Session(CONFIG, tmp_path / "collection", streams)  # type: ignore[arg-type]


def record(session: Session, stream: Stream, outcome: Outcome | None = None) -> None:
    session.start(CollectionMode.TELEOP_DEMO)
    stream.deliver(5)
    session.stop(outcome)


def test_an_episode_holds_what_was_delivered_and_its_provenance(tmp_path: Path) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    session.start(CollectionMode.TELEOP_DEMO)
    stream.deliver(7)
    session.note_now("note", {"text": "the lamp flickers"})
    session.mark(Outcome.SUCCESS)
    info = session.stop()
    assert (info.state, info.outcome, info.task) == (EpisodeState.COMPLETE, Outcome.SUCCESS, "stack")
    assert info.streams["arm"].samples == 7
    assert info.station_digest == CONFIG.digest()
    assert len(info.anchors) >= 2
    assert [event.kind for event in info.events] == ["note", "outcome", "stream_closed"]
    assert session.last_path is not None
    assert open_episode(session.last_path).info == info


def test_numbers_go_on_after_discard_and_a_discarded_episode_comes_back(tmp_path: Path) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    for _ in range(3):
        record(session, stream)
    session.discard()
    assert [info.index for info in list_episodes(session.collection)] == [0, 1]
    record(session, stream)
    assert [info.index for info in list_episodes(session.collection)] == [0, 1, 3]
    session.undo_discard()
    assert [info.index for info in list_episodes(session.collection)] == [0, 1, 2, 3]
    chosen = list_episodes(session.collection)[1]
    session.discard(chosen.id)
    assert [info.index for info in list_episodes(session.collection)] == [0, 2, 3]
    session.undo_discard(chosen.id)
    assert [info.index for info in list_episodes(session.collection)] == [0, 1, 2, 3]


def test_the_open_episode_can_be_discarded(tmp_path: Path) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    session.start(CollectionMode.TELEOP_DEMO)
    stream.deliver()
    session.discard()
    assert not session.recording
    assert list_episodes(session.collection) == []


def test_a_stream_that_cannot_be_prepared_refuses_the_start_and_leaves_nothing(tmp_path: Path) -> None:
    session = make(tmp_path, Stream(), Stream("front", fails_at="prepare"))
    with pytest.raises(DriverError, match="front: its process has ended"):
        session.start(CollectionMode.TELEOP_DEMO)
    assert not session.recording
    assert list_episodes(session.collection) == []


def test_a_stream_that_dies_while_recording_is_noted_and_its_rows_are_kept(tmp_path: Path) -> None:
    good, bad = Stream(), Stream("front", fails_at="finish")
    session = make(tmp_path, good, bad)
    session.start(CollectionMode.TELEOP_DEMO)
    good.deliver(3)
    bad.deliver(4)
    info = session.stop()
    assert info.streams["arm"].samples == 3
    assert info.streams["front"].samples == 4
    assert "front was not closed" in next(event.detail["fault"] for event in info.events if event.kind == "fault")


@pytest.mark.parametrize("verb", ["stop", "mark", "discard", "undo_discard"])
def test_what_is_impossible_is_refused_with_a_sentence(tmp_path: Path, verb: str) -> None:
    session = make(tmp_path, Stream())
    arguments = (Outcome.SUCCESS,) if verb == "mark" else ()
    with pytest.raises(RequestRefusedError, match=r"no episode|nothing has been discarded"):
        getattr(session, verb)(*arguments)


def test_a_second_start_and_a_start_without_a_task_are_refused(tmp_path: Path) -> None:
    session = make(tmp_path, Stream())
    session.task = ""
    with pytest.raises(RequestRefusedError, match="needs a task"):
        session.start(CollectionMode.TELEOP_DEMO)
    session.start(CollectionMode.TELEOP_DEMO, "stack")
    with pytest.raises(RequestRefusedError, match="episode 0 is being recorded"):
        session.start(CollectionMode.TELEOP_DEMO)
    session.close()
    assert list_episodes(session.collection)[0].outcome is Outcome.ABORTED


def test_a_disk_that_is_nearly_full_refuses_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    monkeypatch.setattr(session.disk, "free_bytes", lambda: 5_000_000)
    with pytest.raises(RequestRefusedError, match="5 MB left; an episode needs 500 MB"):
        session.start(CollectionMode.TELEOP_DEMO)
    monkeypatch.setattr(session.disk, "free_bytes", lambda: 600_000_000)
    session.disk.expect(30e6)
    with pytest.raises(
        RequestRefusedError, match=r"600 MB left, 0\.2 minutes at 30\.0 MB/s; an episode needs 2\.0 min"
    ):
        session.start(CollectionMode.TELEOP_DEMO)


def test_a_disk_that_fills_up_closes_the_episode_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    session.start(CollectionMode.TELEOP_DEMO)
    stream.deliver(4)
    session.keep_house()
    assert session.recording
    monkeypatch.setattr(session.disk, "free_bytes", lambda: 100_000_000)
    session.keep_house()
    assert not session.recording
    assert session.message.startswith("The disk is nearly full. Episode 0 kept")
    (info,) = list_episodes(session.collection)
    assert (info.state, info.streams["arm"].samples) == (EpisodeState.COMPLETE, 4)
    assert any("nearly full" in str(event.detail) for event in info.events)


def test_an_episode_may_begin_before_it_was_asked_for(tmp_path: Path) -> None:
    stream = Stream()
    episodes = CONFIG.episodes.model_copy(update={"keep_before_s": 30.0})
    session = Session(CONFIG.model_copy(update={"episodes": episodes}), tmp_path / "collection", [stream])  # type: ignore[list-item]
    stream.deliver(6)
    session.start(CollectionMode.TELEOP_DEMO)
    stream.deliver(2)
    first = session.stop()
    assert first.streams["arm"].samples == 8
    stream.deliver(1)
    session.start(CollectionMode.TELEOP_DEMO)
    second = session.stop()
    assert second.streams["arm"].samples == 1, "what the episode before holds is not recorded twice"
    assert first.stop_ns is not None
    assert second.start_ns >= first.stop_ns


def test_a_pause_is_an_explicit_gap_with_two_events(tmp_path: Path) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    session.start(CollectionMode.TELEOP_DEMO)
    stream.deliver(3)
    session.pause()
    stream.deliver(5)
    assert session.paused
    with pytest.raises(RequestRefusedError, match="paused already"):
        session.pause()
    session.resume()
    stream.deliver(2)
    info = session.stop()
    assert info.streams["arm"].samples == 5
    paused, resumed = (event.time_ns for event in info.events if event.kind.startswith("recording_"))
    assert session.last_path is not None
    times = open_episode(session.last_path).streams["arm"].time
    assert times[2] < paused <= resumed <= times[3]


def test_an_unknown_episode_cannot_be_discarded(tmp_path: Path) -> None:
    stream = Stream()
    session = make(tmp_path, stream)
    record(session, stream)
    with pytest.raises((RequestRefusedError, RecorderError), match="there is no episode nonsense"):
        session.discard("nonsense")
