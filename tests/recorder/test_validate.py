import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recorder import layout, shard
from recorder.episode_writer import EpisodeWriter
from recorder.errors import EpisodeNotFoundError
from recorder.findings import Severity, runs
from recorder.reader import open_episode
from recorder.streams import FieldSpec, ImageStreamSpec, NumericStreamSpec
from recorder.validate import Finding, verify
from recorder.writer import open_stream
from tests.recorder.samples import new_episode, record, stamp_ns

ROWS = {"arm": 300, "pad": 300, "camera": 300}


def errors(path: Path) -> list[Finding]:
    return [finding for finding in verify(path) if finding.severity is Severity.ERROR]


def places(path: Path) -> list[tuple[str, str, tuple[int, int] | None]]:
    return [(finding.stream, finding.array, finding.rows) for finding in errors(path)]


def chunk(path: Path, array: str, number: int, dimensions: int) -> Path:
    return layout.chunk_path(path / array, number, dimensions)


def overwrite(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as opened:
        opened.seek(offset if offset >= 0 else file.stat().st_size + offset)
        opened.write(data)


def edit(document: Path, change: Callable[[dict], object]) -> None:
    content = json.loads(document.read_bytes())
    change(content)
    document.write_text(json.dumps(content), encoding="utf-8")


def swap_stamps(path: Path) -> None:
    file = chunk(path, "pad/time", 0, 1)
    stamps = np.fromfile(file, dtype="<i8")
    stamps[[10, 11]] = stamps[[11, 10]]
    stamps.tofile(file)


def future_stamp(path: Path) -> None:
    file = chunk(path, "pad/time", 0, 1)
    stamps = np.fromfile(file, dtype="<i8")
    stamps[255] += 200_000_000
    stamps.tofile(file)


def bad_index_entry(path: Path) -> None:
    file = chunk(path, "camera/image", 1, 4)
    entries = shard.parse_index(file.read_bytes()[-shard.INDEX_BYTES :])
    entries[3] = (entries[3][0] + 1, entries[3][1])
    overwrite(file, -shard.INDEX_BYTES, shard.pack_index(entries))


FAULTS: dict[str, tuple[Callable[[Path], object], tuple[str, str, tuple[int, int] | None]]] = {
    "lost chunk": (lambda p: chunk(p, "pad/force", 0, 3).unlink(), ("pad", "force", (0, 256))),
    "lost last chunk": (lambda p: chunk(p, "pad/force", 1, 3).unlink(), ("pad", "force", (256, 300))),
    "lost chunk of stamps": (lambda p: chunk(p, "pad/time", 1, 1).unlink(), ("pad", "time", (256, 300))),
    "short chunk": (lambda p: os.truncate(chunk(p, "pad/force", 1, 3), 48), ("pad", "force", (256, 300))),
    "bit flip in numbers": (
        lambda p: overwrite(chunk(p, "arm/position", 0, 2), 77, b"\x55"),
        ("arm", "position", (0, 300)),
    ),
    "swapped stamps": (swap_stamps, ("pad", "time", (11, 12))),
    "stamp in the future": (future_stamp, ("pad", "time", (255, 256))),
    "lost shard": (lambda p: chunk(p, "camera/image", 0, 4).unlink(), ("camera", "image", (0, 256))),
    "truncated shard": (lambda p: os.truncate(chunk(p, "camera/image", 1, 4), 9000), ("camera", "image", (256, 300))),
    "damaged index": (
        lambda p: overwrite(chunk(p, "camera/image", 1, 4), -200, b"\x01"),
        ("camera", "image", (256, 300)),
    ),
    "index that points elsewhere": (bad_index_entry, ("camera", "image", (259, 260))),
    "bit flip in a frame": (
        lambda p: overwrite(chunk(p, "camera/image", 0, 4), 400, b"\x00\x01"),
        ("camera", "image", (0, 1)),
    ),
    "wrong shape": (
        lambda p: edit(p / "pad/force/zarr.json", lambda d: d["shape"].__setitem__(0, 299)),
        ("pad", "", None),
    ),
    "wrong row shape": (
        lambda p: edit(p / "pad/force/zarr.json", lambda d: d["shape"].__setitem__(1, 5)),
        ("pad", "force", None),
    ),
    "wrong dtype": (
        lambda p: edit(p / "arm/mode/zarr.json", lambda d: d.update(data_type="int8")),
        ("arm", "mode", None),
    ),
    "missing array": (lambda p: (p / "arm/mode/zarr.json").unlink(), ("arm", "mode", None)),
    "missing stream": (lambda p: (p / "pad").rename(p.parent / "pad"), ("pad", "", None)),
    "wrong count": (
        lambda p: edit(p / "zarr.json", lambda d: d["attributes"]["streams"]["arm"].update(samples=299)),
        ("arm", "", None),
    ),
    "wrong figure": (
        lambda p: edit(p / "zarr.json", lambda d: d["attributes"]["streams"]["arm"].update(gaps=1)),
        ("arm", "time", None),
    ),
    "stamps outside of the episode": (
        lambda p: edit(p / "zarr.json", lambda d: d["attributes"].update(stop_ns=stamp_ns(299, 4))),
        ("pad", "time", (299, 300)),
    ),
    "stale copy in the root": (
        lambda p: edit(p / "zarr.json", lambda d: d["consolidated_metadata"]["metadata"]["arm/time"].update(shape=[1])),
        ("arm", "time", None),
    ),
    "other stream of that name": (
        lambda p: edit(p / "arm/zarr.json", lambda d: d["attributes"].update(rate_hz=100.0)),
        ("arm", "", None),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_where_it_is(tmp_path: Path, fault: str) -> None:
    path, _ = record(tmp_path, ROWS)
    assert verify(path) == []
    plant, place = FAULTS[fault]
    plant(path)
    assert place in places(path)
    assert {stream for stream, _, _ in places(path)} == {place[0]}
    assert all(finding.stream in finding.sentence for finding in errors(path))


def test_a_lost_chunk_of_ten_rows_is_an_error_though_zarr_gives_zeros(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("recorder.metadata.SMALLEST_CHUNK", 10)
    monkeypatch.setattr("recorder.metadata.CHUNK_SECONDS", 8)  # chunks of 8 rows at 1 Hz, but no less than 10
    spec = NumericStreamSpec(name="series", rate_hz=1, fields=(FieldSpec(name="value", dtype="float32"),))
    writer = EpisodeWriter.create(tmp_path, new_episode([spec]))
    stream = open_stream(writer.path, spec)
    for row in range(100):
        stream.append(stamp_ns(row, 1), stamp_ns(row, 1), {"value": row + 1.0})
    writer.finish(stamp_ns(100, 1), {"series": stream.close()})
    assert verify(writer.path) == []
    chunk(writer.path, "series/value", 3, 1).unlink()
    (found,) = errors(writer.path)
    assert (found.array, found.rows) == ("value", (30, 40))
    assert found.sentence == "stream series, array value, rows 30 to 39: value/c/3 is missing"


def test_zeros_that_were_recorded_are_data(tmp_path: Path) -> None:
    flag = NumericStreamSpec(name="flag", rate_hz=10, fields=(FieldSpec(name="on", dtype="bool"),))
    black = ImageStreamSpec(name="black", rate_hz=10, height=16, width=24)
    writer = EpisodeWriter.create(tmp_path, new_episode([flag, black]))
    flags, frames = open_stream(writer.path, flag), open_stream(writer.path, black)
    for row in range(20):
        flags.append(stamp_ns(row, 10), stamp_ns(row, 10), {"on": False})
        frames.append(stamp_ns(row, 10), stamp_ns(row, 10), np.zeros((16, 24, 3), np.uint8))
    writer.finish(stamp_ns(20, 10), {"flag": flags.close(), "black": frames.close()})
    assert verify(writer.path) == []
    assert open_episode(writer.path).streams["black"].frame(19).max() == 0


def test_facts_are_warnings(tmp_path: Path) -> None:
    spec = NumericStreamSpec(name="slow", rate_hz=30, fields=(FieldSpec(name="value"),))
    writer = EpisodeWriter.create(tmp_path, new_episode([spec]))
    stream = open_stream(writer.path, spec)
    steps = [0, 1, 2, 2, 2, 3, 9, 8]
    for row, step in enumerate(steps):
        stream.append(stamp_ns(step, 24), stamp_ns(20 + row, 24), {"value": 0.0})
    stream.add_drops(2)
    writer.finish(stamp_ns(30, 24), {"slow": stream.close()})
    (writer.path / "notes").mkdir()
    found = {finding.sentence for finding in verify(writer.path)}
    assert errors(writer.path) == []
    assert found == {
        "stream notes: the episode does not declare it",
        "stream slow: 2 samples were lost before they were recorded",
        "stream slow: 21.00 Hz measured, 30 Hz declared",
        "stream slow, array time, rows 3 to 4: the same sample again for 0.083 s",
        "stream slow, array time, row 6: a gap of 0.250 s before it",
        "stream slow, array time, row 7: stamp before that of the row before",
    }


def test_an_unfinished_episode_says_so(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([]))
    assert [finding.severity for finding in verify(writer.path)] == ["warning"]
    gone = writer.discard()
    assert "recover it first" in errors(gone)[0].sentence
    with pytest.raises(EpisodeNotFoundError):
        verify(tmp_path / "000009-x.zarr")


def test_rows_are_named_as_runs() -> None:
    assert runs([1, 2, 3, 7, 9, 10]) == [(1, 4), (7, 8), (9, 11)]
