import json
import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

from recorder import journal, layout
from recorder.collection import find, list_episodes, scan
from recorder.episode import Anchor, Event, StreamSummary
from recorder.episode_writer import EpisodeWriter, discard, restore
from recorder.errors import (
    EpisodeBusyError,
    EpisodeFormatError,
    EpisodeNotFoundError,
    RecorderError,
    StreamStorageError,
)
from recorder.reader import open_episode
from recorder.recover import recover
from recorder.segments import ControlSource, EpisodeState, Outcome
from recorder.streams import FieldSpec, NumericStreamSpec, StreamRole
from recorder.validate import verify
from recorder.writer import open_stream
from tests.recorder.samples import ARM, CAMERA, arm_values, check_rows, frame, new_episode, record, stamp_ns

CONTROL = NumericStreamSpec(
    name="control", role=StreamRole.CONTROL, rate_hz=100, fields=(FieldSpec(name="source", dtype="uint8"),)
)


def test_everything_said_of_an_episode_is_in_its_root_group(tmp_path: Path) -> None:
    facts = {"operator": "ann", "policy_id": "p1", "station": {"name": "bench", "rate": 200.0}, "notes": "first"}
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM], **facts))
    stream = open_stream(writer.path, ARM)
    stream.append(stamp_ns(0), stamp_ns(0), arm_values(0))
    event = Event(time_ns=stamp_ns(0), kind="note", detail={"text": "über", "nan": float("nan")})
    anchor = Anchor(monotonic_ns=stamp_ns(0), utc_ns=1_790_000_000 * 10**9, uncertainty_ns=50)
    writer.event(event)
    writer.anchor(anchor)
    info = writer.finish(stamp_ns(1), {"arm": stream.close()}, Outcome.SUCCESS, notes="better")

    attributes = json.loads((writer.path / "zarr.json").read_text(encoding="utf-8"))["attributes"]
    assert open_episode(writer.path).info == info
    assert (attributes["task"], attributes["operator"], attributes["outcome"]) == ("pick", "ann", "success")
    assert attributes["station"] == facts["station"]
    assert len(attributes["station_digest"]) == 64
    assert attributes["events"][0]["detail"] == {"text": "über", "nan": None}
    assert info.anchors == (anchor,)
    assert (info.state, info.notes, info.duration_s) == (EpisodeState.COMPLETE, "better", pytest.approx(0.010000001))
    assert not layout.journal_path(writer.path).exists()
    assert [path.name for path in tmp_path.iterdir()] == [writer.path.name]


def test_segments_come_from_the_control_stream(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([CONTROL], collection_mode="intervention"))
    stream = open_stream(writer.path, CONTROL)
    sources = [ControlSource.POLICY] * 4 + [ControlSource.OPERATOR] * 3 + [ControlSource.POLICY] * 2
    for row, source in enumerate(sources):
        stream.append(stamp_ns(row), stamp_ns(row), {"source": source})
    info = writer.finish(stamp_ns(9), {"control": stream.close()})
    assert [(segment.start_row, segment.end_row) for segment in info.segments] == [(0, 4), (4, 7), (7, 9)]
    assert [(found.operator_start_row, found.operator_end_row) for found in info.interventions] == [(4, 7)]


def test_a_stream_whose_process_died_is_repaired_at_the_end(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM, CAMERA]))
    arm = open_stream(writer.path, ARM)
    worker = multiprocessing.get_context("spawn").Process(target=_record_and_die, args=(writer.path,))
    worker.start()
    worker.join()
    arm.append(stamp_ns(0, 200), stamp_ns(0, 200) + 5, arm_values(0))
    summary = arm.close()
    info = writer.finish(stamp_ns(100), {"arm": summary})
    assert worker.exitcode == -9
    assert info.streams["camera"].samples == 7
    check_rows(writer.path, {"arm": 1, "camera": 7})
    assert verify(writer.path) == []


def _record_and_die(episode: Path) -> None:
    import os
    import signal

    stream = open_stream(episode, CAMERA)
    for row in range(7):
        stream.append(stamp_ns(row, 30), stamp_ns(row, 30) + 5, frame(row))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_stream_that_was_never_opened_is_there_and_empty(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM, CAMERA]))
    info = writer.finish(stamp_ns(1), {"arm": StreamSummary(samples=0)})
    assert {name: summary.lost for name, summary in info.streams.items()} == dict.fromkeys(
        ("arm", "camera"), "its writer never began"
    )
    assert [len(stream) for stream in open_episode(writer.path).streams.values()] == [0, 0]
    assert {finding.severity for finding in verify(writer.path)} == {"warning"}


def test_finish_refuses_while_a_stream_is_open(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM]))
    stream = open_stream(writer.path, ARM)
    with pytest.raises(EpisodeBusyError, match=r"stream arm .* is being written"):
        writer.finish(stamp_ns(1), {})
    writer.finish(stamp_ns(1), {"arm": stream.close()})


def test_numbering_goes_on_over_discarded_episodes(tmp_path: Path) -> None:
    first, _ = record(tmp_path, {"arm": 1}, [ARM])
    second, _ = record(tmp_path, {"arm": 1}, [ARM])
    gone = discard(second)
    third, _ = record(tmp_path, {"arm": 1}, [ARM])
    assert gone.parent.name == ".trash"
    assert [info.index for info in list_episodes(tmp_path)] == [0, 2]
    assert restore(gone) == second
    assert find(tmp_path) == [first, second, third]
    assert find(second) == [second]
    assert open_episode(second).info.state is EpisodeState.COMPLETE


def _create(collection: Path, queue: "multiprocessing.Queue[int]") -> None:
    for _ in range(10):
        writer = EpisodeWriter.create(collection, new_episode([]))
        queue.put(writer.index)
        writer.finish(stamp_ns(1), {})


def test_two_processes_never_take_the_same_number(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    others = [context.Process(target=_create, args=(tmp_path, queue)) for _ in range(2)]
    for other in others:
        other.start()
    indexes = sorted(queue.get(timeout=30) for _ in range(20))
    for other in others:
        other.join()
    queue.close()
    queue.join_thread()
    assert indexes == list(range(20))


def test_a_discarded_recording_can_be_restored_and_recovered(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM]))
    with pytest.raises(EpisodeBusyError, match="is being recorded; stop it first"):
        discard(writer.path)
    stream = open_stream(writer.path, ARM)
    stream.append(stamp_ns(0, 200), stamp_ns(0, 200) + 5, arm_values(0))
    stream.close()
    gone = writer.discard()
    assert list_episodes(tmp_path) == []
    path = restore(gone)
    assert list_episodes(tmp_path)[0].state is EpisodeState.INTERRUPTED
    assert recover(path).info.streams["arm"].samples == 1
    check_rows(path, {"arm": 1})


def test_a_damaged_episode_does_not_break_the_list(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, _ = record(tmp_path, {"arm": 1}, [ARM])
    bad, _ = record(tmp_path, {"arm": 1}, [ARM])
    old, _ = record(tmp_path, {"arm": 1}, [ARM])
    (bad / "zarr.json").write_bytes(b"{")
    document = json.loads((old / "zarr.json").read_bytes())
    document["attributes"]["schema_version"] = 99
    (old / "zarr.json").write_text(json.dumps(document), encoding="utf-8")
    assert [entry.path for entry in scan(tmp_path) if entry.info is None] == [bad, old]
    assert [info.index for info in list_episodes(tmp_path)] == [0]
    assert "schema version 99; this version reads 1" in caplog.text
    with pytest.raises(EpisodeFormatError, match="cannot be read"):
        open_episode(bad)
    assert [finding.severity for finding in verify(bad)] == ["error"]
    assert verify(good) == []


def test_a_missing_collection_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EpisodeNotFoundError, match="no episode or collection at"):
        list_episodes(tmp_path / "nowhere")
    with pytest.raises(EpisodeNotFoundError, match="no episode at"):
        open_episode(tmp_path / "nowhere.zarr")
    with pytest.raises(EpisodeNotFoundError, match="not in the trash"):
        restore(tmp_path / "nowhere.zarr")


def test_stream_names_must_differ(tmp_path: Path) -> None:
    with pytest.raises(RecorderError, match="stream names repeat"):
        EpisodeWriter.create(tmp_path, new_episode([ARM, ARM]))


def test_a_torn_line_of_the_journal_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([]))
    path = layout.journal_path(writer.path)
    writer.event(Event(time_ns=stamp_ns(0), kind="note"))
    with path.open("ab") as file:
        file.write(b'{"kind": "event", "val')
    assert [event.kind for event in journal.fold(path).events] == ["note"]
    assert "line 3 is torn" in caplog.text
    writer.discard()


def test_the_fiftieth_episode_costs_what_the_first_did(tmp_path: Path) -> None:
    record(tmp_path, {"arm": 2, "camera": 2}, [ARM, CAMERA])
    held = (len(list(Path("/proc/self/fd").iterdir())), threading.active_count())
    fastest = []
    for _ in range(50):
        writer = EpisodeWriter.create(tmp_path, new_episode([CAMERA]))
        stream = open_stream(writer.path, CAMERA)
        times = []
        for row in range(100):
            begin = time.perf_counter_ns()
            stream.append(stamp_ns(row), stamp_ns(row), frame(row))
            times.append(time.perf_counter_ns() - begin)
        writer.finish(stamp_ns(100), {"camera": stream.close()})
        fastest.append(min(times))
    assert min(fastest[-10:]) <= 1.5 * min(fastest[:10])
    assert (len(list(Path("/proc/self/fd").iterdir())), threading.active_count()) == held
    assert ".zarr" not in Path("/proc/self/maps").read_text(encoding="utf-8")
    assert [info.index for info in list_episodes(tmp_path)] == list(range(51))


def test_a_full_disk_does_not_end_the_journal_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([]))
    real = os.write
    monkeypatch.setattr("os.write", lambda descriptor, data: real(descriptor, data[:9]))
    with pytest.raises(StreamStorageError, match="the disk took only 9 of"):
        writer.event(Event(time_ns=stamp_ns(0), kind="lost"))
    monkeypatch.undo()
    writer.event(Event(time_ns=stamp_ns(1), kind="kept"))
    assert [event.kind for event in writer.finish(stamp_ns(2), {}).events] == ["kept"]
