"""A sample belongs to an episode by its stamp, whenever it arrives."""

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.episode_writer import EpisodeWriter, NewEpisode
from recorder.reader import open_episode
from recorder.streams import FieldSpec, NumericStreamSpec
from teleop_app.station.stream_recorder import StreamRecorder
from tests.system.commands import wait_for

SPEC = NumericStreamSpec(name="arm", rate_hz=100, fields=(FieldSpec(name="position"),))


def begin(recorder: StreamRecorder, folder: Path, start_ns: int) -> EpisodeWriter:
    writer = EpisodeWriter.create(
        folder, NewEpisode(start_ns=start_ns, utc_ns=start_ns, task="t", stream_specs=(SPEC,))
    )
    recorder.prepare(writer.path, SPEC)
    return writer


def offer(recorder: StreamRecorder, *stamps: int) -> None:
    for stamp in stamps:
        recorder.offer(stamp, stamp + 1, {"position": stamp / 2})


def end(recorder: StreamRecorder, writer: EpisodeWriter, stop_ns: int) -> list[int]:
    recorder.end(stop_ns)
    summary = recorder.finish()
    writer.finish(stop_ns, {"arm": summary})
    stream = open_episode(writer.path).streams["arm"]
    assert (stream.field("position") == stream.time / 2).all()  # type: ignore[union-attr]
    return [int(stamp) for stamp in stream.time]


def test_samples_between_the_start_and_its_announcement_are_not_lost(tmp_path: Path) -> None:
    recorder = StreamRecorder("arm", 100)
    offer(recorder, 80, 90, 100)
    writer = begin(recorder, tmp_path, 95)
    offer(recorder, 110)
    recorder.begin(95)
    offer(recorder, 120)
    recorder.suspend()
    offer(recorder, 130, 140)
    assert end(recorder, writer, 135) == [100, 110, 120, 130]


def test_a_late_sample_still_belongs_and_an_early_one_opens_the_next_episode(tmp_path: Path) -> None:
    recorder = StreamRecorder("arm", 100)
    first = begin(recorder, tmp_path, 1)
    recorder.begin(1)
    offer(recorder, 10)
    recorder.suspend()
    recorder.end(25)
    offer(recorder, 20, 30)
    assert end(recorder, first, 25) == [10, 20]
    second = begin(recorder, tmp_path, 28)
    recorder.begin(28)
    offer(recorder, 40)
    recorder.suspend()
    assert end(recorder, second, 45) == [30, 40]


def test_a_pause_is_a_gap_from_its_start_to_its_end(tmp_path: Path) -> None:
    recorder = StreamRecorder("arm", 100)
    writer = begin(recorder, tmp_path, 1)
    recorder.begin(1)
    offer(recorder, 10, 20)
    recorder.suspend()
    offer(recorder, 30, 40)
    recorder.end(35)
    offer(recorder, 50, 60)
    recorder.begin(55)
    offer(recorder, 70)
    recorder.suspend()
    assert end(recorder, writer, 100) == [10, 20, 30, 60, 70]


def test_a_sample_that_comes_after_its_episode_was_closed_is_said(tmp_path: Path) -> None:
    recorder = StreamRecorder("arm", 100)
    writer = begin(recorder, tmp_path, 1)
    recorder.begin(1)
    offer(recorder, 10)
    recorder.suspend()
    assert end(recorder, writer, 25) == [10]
    offer(recorder, 20)
    assert recorder.fault == "arm: 1 samples came after their episode was closed; set latency_s"


def test_finish_waits_for_the_sample_after_the_end_but_not_for_long(tmp_path: Path) -> None:
    recorder = StreamRecorder("arm", 100)
    writer = begin(recorder, tmp_path, 1)
    recorder.begin(1)
    offer(recorder, 10)
    recorder.suspend()
    recorder.end(25)
    done = threading.Event()
    finishing = threading.Thread(target=lambda: (recorder.finish(), done.set()))
    finishing.start()
    offer(recorder, 20, 26)
    assert done.wait(5.0)
    finishing.join()
    writer.discard()


def test_a_value_that_does_not_fit_is_counted_said_and_does_not_stop_the_stream(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = StreamRecorder("arm", 100)
    writer = begin(recorder, tmp_path, 1)
    recorder.begin(1)
    recorder.offer(10, 11, {"position": [1.0, 2.0]})
    offer(recorder, 20)
    wait_for(lambda: "1 samples could not be recorded" in recorder.fault)
    recorder.suspend()
    recorder.end(30)
    summary = recorder.finish()
    assert (summary.samples, summary.drops) == (1, 1)
    assert [(run.first_ns, run.last_ns, run.count) for run in recorder.lost] == [(10, 10, 1)]
    writer.discard()


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_wherever_the_announcements_fall_each_stamp_in_the_interval_is_recorded_once(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stamps = list(range(10, 400, 10))
    start_ns, stop_ns = sorted(data.draw(st.tuples(st.integers(1, 390), st.integers(1, 390))))
    prepared = data.draw(st.integers(start_ns // 10, len(stamps)))
    begun = data.draw(st.integers(prepared, len(stamps)))
    suspended = data.draw(st.integers(begun, len(stamps)))
    told = data.draw(st.integers(suspended, len(stamps)))
    stop_ns = max(stop_ns, suspended * 10 + 1)  # the end is set once the stream waits
    recorder = StreamRecorder("arm", 100)
    folder = tmp_path_factory.mktemp("collection")
    offer(recorder, *stamps[:prepared])
    writer = begin(recorder, folder, start_ns)
    offer(recorder, *stamps[prepared:begun])
    recorder.begin(start_ns)
    offer(recorder, *stamps[begun:suspended])
    recorder.suspend()
    offer(recorder, *stamps[suspended:told])
    recorder.end(stop_ns)
    offer(recorder, *stamps[told:], 1000)
    assert end(recorder, writer, stop_ns) == [stamp for stamp in stamps if start_ns <= stamp < stop_ns]
