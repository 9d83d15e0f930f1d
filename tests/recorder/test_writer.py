import math
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import recorder
from recorder import jpeg, jpeg_codec, layout
from recorder.episode_writer import EpisodeWriter
from recorder.errors import EpisodeNotFoundError, RecorderError, StreamStorageError, StreamValueError
from recorder.metadata import chunk_rows
from recorder.row_files import RowFiles
from recorder.streams import FieldSpec, ImageStreamSpec, NumericStreamSpec
from recorder.validate import verify
from recorder.writer import StreamWriter, close_all, open_stream
from tests.recorder.samples import ARM, CAMERA, PAD, arm_values, frame, new_episode, record, stamp_ns

jpeg_codec.register()
DTYPES = ("bool", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64")


@st.composite
def streams(draw: st.DrawFn) -> tuple[NumericStreamSpec, dict[str, np.ndarray]]:
    """A stream of up to four fields of any dtype and shape, with rows around a chunk's border."""
    rows = draw(st.sampled_from((0, 1, 2, 255, 256, 257)))
    fields, data = [], {}
    for index in range(draw(st.integers(1, 4))):
        dtype = draw(st.sampled_from(DTYPES))
        shape = draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
        dims = tuple(f"d{index}_{axis}" for axis in range(len(shape)))
        fields.append(FieldSpec(name=f"f{index}", dtype=dtype, shape=shape, dims=dims, unit="m"))
        data[f"f{index}"] = draw(hnp.arrays(dtype, (rows, *shape)))
    return NumericStreamSpec(name="any", rate_hz=1, fields=tuple(fields)), data


@settings(max_examples=15, deadline=None)
@given(streams())
def test_numbers_come_back_as_they_were_through_us_and_through_zarr(case: tuple) -> None:
    spec, data = case
    rows = len(data["f0"])
    with tempfile.TemporaryDirectory() as folder:
        writer = EpisodeWriter.create(Path(folder), new_episode([spec]))
        stream = open_stream(writer.path, spec)
        for row in range(rows):
            stream.append(stamp_ns(row), stamp_ns(row) + 5, {name: array[row] for name, array in data.items()})
        writer.finish(stamp_ns(rows), {"any": stream.close()})

        ours = recorder.open(writer.path).streams["any"]
        plain = zarr.open_group(writer.path, mode="r")["any"]
        assert len(ours) == rows
        for name, array in data.items():
            for found in (ours.field(name), plain[name][:]):
                assert found.dtype == array.dtype
                np.testing.assert_array_equal(found, array)
        np.testing.assert_array_equal(plain["time"][:], [stamp_ns(row) for row in range(rows)])
        np.testing.assert_array_equal(ours.time, plain["time"][:])
        np.testing.assert_array_equal(ours.received, plain["received"][:])
        assert [finding for finding in verify(writer.path) if finding.severity == "error"] == []


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 600])
def test_frames_come_back_byte_for_byte_through_us_and_as_pixels_through_zarr(tmp_path: Path, rows: int) -> None:
    path, _ = record(tmp_path, {"camera": rows}, [CAMERA])
    ours = recorder.open(path).streams["camera"]
    plain = zarr.open_group(path, mode="r")["camera"]
    assert (len(ours), plain["image"].shape) == (rows, (rows, 16, 24, 3))
    for row in {0, 1, 254, 255, 256, 299, rows - 1} & set(range(rows)):
        assert ours.jpeg(row) == frame(row)
        np.testing.assert_array_equal(ours.frame(row), plain["image"][row])
    assert verify(path) == []


def test_xarray_reads_streams_as_they_are(tmp_path: Path) -> None:
    path, _ = record(tmp_path, {"arm": 10, "camera": 10}, [ARM, CAMERA])
    with xarray.open_zarr(path, group="arm") as arm, xarray.open_zarr(path, group="camera") as camera:
        assert dict(arm.sizes) == {"time": 10, "joint": 6}
        assert arm.time.dtype == arm.received.dtype == np.int64
        assert arm.time.attrs["units"] == "ns"
        assert arm.position.attrs["units"] == "rad"
        assert arm.position.attrs["labels"][0] == "base"
        assert arm["mode"].attrs["flag_meanings"] == "off on"
        np.testing.assert_array_equal(arm.position[3], arm_values(3)["position"])
        assert camera.image.dims == ("time", "y", "x", "rgb")
        np.testing.assert_array_equal(camera.image[9], jpeg.decode(frame(9)))


def test_red_stays_red(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([CAMERA]))
    stream = open_stream(writer.path, CAMERA)
    stream.append(stamp_ns(0), stamp_ns(0), np.full((16, 24, 3), (255, 0, 0), dtype=np.uint8))
    writer.finish(stamp_ns(1), {"camera": stream.close()})
    for pixels in (recorder.open(writer.path).streams["camera"].frame(0), zarr.open(writer.path)["camera/image"][0]):
        assert pixels[8, 12, 0] > 200
        assert pixels[8, 12, 1:].max() < 60


@pytest.fixture
def arm(tmp_path: Path):
    writer = EpisodeWriter.create(tmp_path, new_episode())
    stream = open_stream(writer.path, ARM)
    yield stream
    stream.close()
    writer.discard()


@pytest.fixture
def camera(tmp_path: Path):
    writer = EpisodeWriter.create(tmp_path, new_episode())
    stream = open_stream(writer.path, CAMERA)
    yield stream
    stream.close()
    writer.discard()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"position": np.zeros(5)}, r"field position: shape \(5,\) instead of \(6,\)"),
        ({"position": np.zeros(6, dtype="U1")}, "dtype <U1 instead of float64"),
        ({"position": [[0.0], [1.0, 2.0]]}, "not an array"),
        ({"mode": 256}, "256 does not fit uint8"),
        ({"mode": -1}, "-1 does not fit uint8"),
        ({"mode": 1.0}, "dtype float64 instead of uint8"),
        ({"moving": 2}, "2 does not fit bool"),
        ({"speed": 1.0}, r"unknown fields \['speed'\]"),
    ],
)
def test_a_wrong_row_is_refused_whole(arm: StreamWriter, change: dict, sentence: str) -> None:
    with pytest.raises(StreamValueError, match=sentence):
        arm.append(stamp_ns(0), stamp_ns(0), arm_values(0) | change)
    assert arm.summary.samples == 0


@pytest.mark.parametrize("time_ns", [0, -1, 1.5, 2**63, None])
def test_a_stamp_that_is_no_stamp_is_refused(arm: StreamWriter, time_ns: object) -> None:
    with pytest.raises(StreamValueError, match="is not a positive 64-bit integer"):
        arm.append(time_ns, stamp_ns(0), arm_values(0))


def test_a_missing_field_is_named(arm: StreamWriter) -> None:
    with pytest.raises(StreamValueError, match=r"missing fields \['mode', 'moving'\]"):
        arm.append(stamp_ns(0), stamp_ns(0), {"position": np.zeros(6)})
    with pytest.raises(StreamValueError, match="bytes instead of a value for each field"):
        arm.append(stamp_ns(0), stamp_ns(0), b"")


def test_plain_numbers_are_taken_where_they_fit(arm: StreamWriter) -> None:
    arm.append(np.int64(stamp_ns(0)), stamp_ns(0), {"position": [0, 1, 2, 3, 4, math.nan], "moving": 1, "mode": True})
    assert arm.summary.samples == 1


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b"", "does not start as a JPEG"),
        (b"\x89PNG\r\n\x1a\n", "does not start as a JPEG"),
        (frame(0)[:30], "no frame header"),
        (jpeg.encode(np.zeros((24, 16, 3), np.uint8), ImageStreamSpec(name="a", rate_hz=1, height=24, width=16)),
         "16 x 24 px with 3 components of 8 bits instead of 24 x 16 px"),
        (np.zeros((16, 24), np.uint8), r"pixels of shape \(16, 24\)"),
        (np.zeros((16, 24, 3)), "float64 pixels"),
        ({"image": b""}, "dict instead of a JPEG or RGB pixels"),
    ],
)  # fmt: skip
def test_a_wrong_frame_is_refused(camera: StreamWriter, value: object, sentence: str) -> None:
    with pytest.raises(StreamValueError, match=sentence):
        camera.append(stamp_ns(0), stamp_ns(0), value)
    assert camera.summary.samples == 0


def test_a_stream_is_opened_once_and_only_in_an_episode(tmp_path: Path, arm: StreamWriter) -> None:
    path = next(tmp_path.glob("*.zarr"))
    with pytest.raises(RecorderError, match="has a stream arm already"):
        open_stream(path, ARM)
    with pytest.raises(EpisodeNotFoundError, match="no episode at"):
        open_stream(tmp_path / "nowhere.zarr", ARM)


def test_close_twice_is_once_and_a_closed_stream_takes_nothing(arm: StreamWriter) -> None:
    arm.append(stamp_ns(0), stamp_ns(0), arm_values(0))
    arm.add_drops(3)
    assert arm.close() == arm.close()
    assert arm.summary.drops == 3
    with pytest.raises(RecorderError, match="is closed"):
        arm.append(stamp_ns(1), stamp_ns(1), arm_values(1))


def test_a_full_disk_is_said_and_nothing_before_it_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([PAD]))
    stream = open_stream(writer.path, PAD)
    values = {"force": np.zeros((4, 3), np.float32)}
    for row in range(256):
        stream.append(stamp_ns(row, 4), stamp_ns(row, 4), values)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(StreamStorageError, match=r"stream pad of .*No space left on device"):
        stream.append(stamp_ns(256, 4), stamp_ns(256, 4), values)
    monkeypatch.undo()
    with pytest.raises(StreamStorageError, match="No space left"):
        stream.append(stamp_ns(256, 4), stamp_ns(256, 4), values)
    info = writer.finish(stamp_ns(256, 4), {"pad": stream.close()})
    assert info.streams["pad"].samples == 256
    assert verify(writer.path) == []


def test_a_chunk_is_ready_before_it_is_needed(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([PAD]))
    stream = open_stream(writer.path, PAD)
    for row in range(250):
        stream.append(stamp_ns(row, 4), stamp_ns(row, 4), {"force": np.zeros((4, 3), np.float32)})
    stream.commit()
    ready = layout.chunk_path(writer.path / "pad" / "force", 1, 3)
    assert ready.is_file()
    writer.finish(stamp_ns(250, 4), {"pad": stream.close()})
    assert not ready.exists()


def test_a_shard_is_ready_before_it_is_needed(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([CAMERA]))
    stream = open_stream(writer.path, CAMERA)
    shards = [layout.chunk_path(writer.path / "camera" / "image", number, 4) for number in range(2)]
    assert [path.is_file() for path in shards] == [True, False]
    for row in range(128):
        stream.append(stamp_ns(row, 30), stamp_ns(row, 30), frame(row))
    stream.commit()
    assert [path.is_file() for path in shards] == [True, True]
    writer.finish(stamp_ns(128, 30), {"camera": stream.close()})
    assert [path.is_file() for path in shards] == [True, False]
    assert verify(writer.path) == []


def test_a_stream_without_a_sample_leaves_no_data_file(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM, CAMERA]))
    summaries = close_all({spec.name: open_stream(writer.path, spec) for spec in (ARM, CAMERA)})
    writer.finish(stamp_ns(1), summaries)
    assert {path.name for path in writer.path.rglob("*") if path.is_file()} == {"zarr.json"}


def test_a_disk_that_is_full_from_the_start_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM]))
    monkeypatch.setattr("os.posix_fallocate", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StreamStorageError, match="No space left"):
        open_stream(writer.path, ARM)
    monkeypatch.undo()
    assert writer.finish(stamp_ns(1), {}).streams["arm"].samples == 0


def test_a_reader_of_a_live_episode_sees_what_was_committed(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM, CAMERA]))
    arm, camera = open_stream(writer.path, ARM), open_stream(writer.path, CAMERA)
    for row in range(300):
        arm.append(stamp_ns(row), stamp_ns(row), arm_values(row))
        camera.append(stamp_ns(row), stamp_ns(row), frame(row))
    arm.commit()
    camera.commit()
    episode = recorder.open(writer.path)
    assert episode.info.state == "recording"
    assert {name: len(stream) for name, stream in episode.streams.items()} == {"arm": 300, "camera": 256}
    assert episode.streams["camera"].jpeg(255) == frame(255)
    arm.close()
    camera.close()
    writer.discard()


def test_commits_beside_appends_lose_nothing(tmp_path: Path) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([PAD]))
    stream = open_stream(writer.path, PAD)
    done = threading.Event()

    def commit() -> None:
        while not done.is_set():
            stream.commit()

    other = threading.Thread(target=commit)
    other.start()
    for row in range(3000):
        stream.append(stamp_ns(row, 4), stamp_ns(row, 4), {"force": np.full((4, 3), row, np.float32)})
    done.set()
    other.join()
    writer.finish(stamp_ns(3000, 4), {"pad": stream.close()})
    found = recorder.open(writer.path).streams["pad"]
    np.testing.assert_array_equal(found.field("force")[:, 0, 0], np.arange(3000))
    assert verify(writer.path) == []


def test_streams_close_together_and_one_that_cannot_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([ARM, CAMERA]))
    streams = {spec.name: open_stream(writer.path, spec) for spec in (ARM, CAMERA)}
    streams["arm"].append(stamp_ns(0), stamp_ns(0), arm_values(0))
    streams["camera"].append(stamp_ns(0), stamp_ns(0), frame(0))
    monkeypatch.setattr(RowFiles, "sync", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(StreamStorageError, match="Input/output error"):
        close_all(streams)
    monkeypatch.undo()
    info = writer.finish(stamp_ns(1), {})
    assert {name: summary.samples for name, summary in info.streams.items()} == {"arm": 1, "camera": 1}
    assert verify(writer.path) == []
    assert close_all({}) == {}


def test_allocation_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recorder.metadata import array_layouts

    files = RowFiles(tmp_path / "time", array_layouts(PAD)[0])
    monkeypatch.setattr("os.ftruncate", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        files.advance(0)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(("rate_hz", "rows"), [(0.1, 256), (4, 256), (30, 2048), (100, 8192), (200, 16384)])
def test_chunks_hold_a_minute_or_more(rate_hz: float, rows: int) -> None:
    assert chunk_rows(rate_hz) == rows


def test_writing_does_not_load_zarr() -> None:
    code = "import sys, recorder, recorder.writer, recorder.episode_writer; sys.exit('zarr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
