import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recorder import layout
from recorder.collection import list_episodes
from recorder.episode_writer import EpisodeWriter
from recorder.errors import EpisodeBusyError, EpisodeNotFoundError
from recorder.findings import Severity
from recorder.reader import open_episode
from recorder.recover import recover
from recorder.segments import EpisodeState
from recorder.validate import verify
from recorder.writer import open_stream
from tests.recorder.samples import ARM, CAMERA, SPECS, check_rows, new_episode, record, stamp_ns, values

ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("record_until_killed.py")


def record_and_kill(collection: Path, reports: int, pause_s: float) -> tuple[Path, Counter[str]]:
    """Kill a recording process some time after so many reports; give the episode and all that was reported."""
    child = subprocess.Popen(
        [sys.executable, SCRIPT, collection],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with child:
        path = Path(child.stdout.readline().decode().strip())
        lines = [child.stdout.readline() for _ in range(reports)]
        until = time.perf_counter() + pause_s
        while time.perf_counter() < until:
            lines.append(child.stdout.readline())
        child.kill()
        lines += child.stdout.readlines()
    assert child.returncode == -9
    return path, Counter(line.decode().strip() for line in lines if line.endswith(b"\n"))


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: kills of a process do not need a disk, and syncing one takes long."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


def errors(path: Path) -> list[str]:
    return [finding.sentence for finding in verify(path) if finding.severity is Severity.ERROR]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_killed_recording_keeps_exactly_what_was_appended(quick_path: Path, seed: int) -> None:
    moment = random.Random(seed)
    reports = 0 if seed == 0 else moment.randrange(3000)
    path, reported = record_and_kill(quick_path, reports, moment.random() * 0.02)

    assert open_episode(path).info.state is EpisodeState.INTERRUPTED
    report = recover(path)

    assert report.repaired
    assert report.info.state is EpisodeState.RECOVERED
    assert set(report.lost.values()) <= {"its writer never began"}
    counts = {name: summary.samples for name, summary in report.info.streams.items()}
    for name, count in counts.items():
        assert reported[name] <= count <= reported[name] + 1, name
    assert sum(counts.values()) <= sum(reported[spec.name] for spec in SPECS) + 1
    assert reported["event"] <= len(report.info.events) <= reported["event"] + 1
    check_rows(path, counts)
    assert errors(path) == []
    assert not recover(path).repaired
    assert recover(path).info == report.info
    assert [entry.name for entry in quick_path.iterdir()] == [path.name]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("what", "least"), [("finish", 60), ("discard", 50), ("recover", 90), ("restore", 2)])
def test_death_at_any_step_loses_nothing(quick_path: Path, what: str, least: int) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT.with_name("die_at_every_step.py"), what, quick_path],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= least


def interrupted(collection: Path, rows: dict[str, int]) -> Path:
    """An episode as a killed process leaves it: what was appended is there, nothing was closed."""
    writer = EpisodeWriter.create(collection, new_episode())
    streams = [(spec, open_stream(writer.path, spec)) for spec in SPECS]
    for spec, stream in streams:
        for row in range(rows[spec.name]):
            time_ns = stamp_ns(row, spec.rate_hz)
            stream.append(time_ns, time_ns + 5, values(spec.name, row))
    killed = collection.parent / "killed"
    shutil.copytree(collection, killed)
    for _, stream in streams:
        stream.close()
    writer.discard()
    return killed / writer.path.name


def test_two_saved_episodes_are_untouched_by_the_death_of_the_third(tmp_path: Path) -> None:
    for _ in range(2):
        record(tmp_path / "col", {"arm": 5, "pad": 5, "camera": 5})
    saved = {file: file.read_bytes() for file in (tmp_path / "col").rglob("*") if file.is_file()}
    third = interrupted(tmp_path / "col", {"arm": 50, "pad": 50, "camera": 50})

    recover(third)

    episodes = list_episodes(third.parent)
    assert [info.index for info in episodes] == [0, 1, 2]
    assert [info.state for info in episodes] == ["complete", "complete", "recovered"]
    assert {name: summary.samples for name, summary in episodes[2].streams.items()} == dict.fromkeys(
        ("arm", "pad", "camera"), 50
    )
    check_rows(third, {"arm": 50, "pad": 50, "camera": 50})
    assert all(file.read_bytes() == data for file, data in saved.items())


def test_a_torn_frame_is_cut_off_and_the_frames_before_it_stay(tmp_path: Path) -> None:
    path = interrupted(tmp_path / "col", {"arm": 1, "pad": 1, "camera": 300})
    shard = layout.chunk_path(path / "camera" / "image", 1, 4)
    os.truncate(shard, shard.stat().st_size - 7)

    report = recover(path)

    assert report.info.streams["camera"].samples == 299
    check_rows(path, {"arm": 1, "pad": 1, "camera": 299})
    assert errors(path) == []


def test_recovery_goes_on_where_a_kill_ended_it(tmp_path: Path) -> None:
    rows = {"arm": 300, "pad": 300, "camera": 300}
    path = interrupted(tmp_path / "col", rows)
    shutil.copytree(path.parent, tmp_path / "whole")
    expected = recover(tmp_path / "whole" / path.name).info
    # What a kill in the middle of it may leave: a half-written index, short chunk files, temporary documents.
    with layout.chunk_path(path / "camera" / "image", 1, 4).open("ab") as file:
        file.write(b"\xff" * 1000)
    os.truncate(layout.chunk_path(path / "arm" / "position", 0, 2), 300 * 48)
    (path / "arm" / "time" / "zarr.json.tmp").write_bytes(b"{")

    assert recover(path).info == expected
    check_rows(path, rows)


def test_a_stream_that_never_began_is_empty_and_named(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path / "col", new_episode())
    with pytest.raises(EpisodeBusyError, match="live process"):
        recover(writer.path)
    shutil.copytree(tmp_path / "col", tmp_path / "killed")
    writer.discard()

    report = recover(tmp_path / "killed" / writer.path.name)

    assert report.lost == dict.fromkeys(("arm", "pad", "camera"), "its writer never began")
    assert errors(report.path) == []


def test_rows_behind_the_last_commit_count_only_without_a_power_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = EpisodeWriter.create(tmp_path / "col", new_episode([ARM, CAMERA]))
    arm, camera = open_stream(writer.path, ARM), open_stream(writer.path, CAMERA)
    for row in range(20):
        if row == 12:
            arm.commit()
        for spec, stream in ((ARM, arm), (CAMERA, camera)):
            stream.append(stamp_ns(row, spec.rate_hz), stamp_ns(row, spec.rate_hz) + 5, values(spec.name, row))
    shutil.copytree(tmp_path / "col", tmp_path / "killed")
    arm.close()
    camera.close()
    writer.discard()
    monkeypatch.setattr(layout, "boot_id", lambda: "another-boot")

    report = recover(tmp_path / "killed" / writer.path.name)

    assert report.lost == {"arm": "rows 12 to 19: not committed before the power loss"}
    check_rows(report.path, {"arm": 12, "camera": 20})
    assert errors(report.path) == []


def test_drops_that_were_committed_are_still_counted(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path / "col", new_episode([ARM, CAMERA]))
    streams = [open_stream(writer.path, spec) for spec in (ARM, CAMERA)]
    for drops, stream in enumerate(streams, 3):
        stream.add_drops(drops)
        stream.commit()
    shutil.copytree(tmp_path / "col", tmp_path / "killed")
    for stream in streams:
        stream.close()
    writer.discard()

    report = recover(tmp_path / "killed" / writer.path.name)

    assert {name: summary.drops for name, summary in report.info.streams.items()} == {"arm": 3, "camera": 4}
    assert errors(report.path) == []


def test_recover_needs_an_episode(tmp_path: Path) -> None:
    with pytest.raises(EpisodeNotFoundError, match="no episode at"):
        recover(tmp_path / "000000-x.zarr")


def test_a_complete_episode_is_left_alone(tmp_path: Path) -> None:
    path, info = record(tmp_path, {"arm": 3, "pad": 3, "camera": 3})
    before = {file: file.stat().st_mtime_ns for file in path.rglob("*")}
    report = recover(path)
    assert (report.repaired, report.info) == (False, info)
    assert {file: file.stat().st_mtime_ns for file in path.rglob("*")} == before
    assert np.all(np.diff(open_episode(path).streams["arm"].time) > 0)
