"""Frames without loss: raw RGB and 16-bit depth, through our reader, plain Zarr, a crash and a check."""

from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pydantic import ValidationError

from recorder.episode_writer import EpisodeWriter
from recorder.errors import StreamValueError
from recorder.reader import ImageStream, open_episode
from recorder.recover import recover
from recorder.segments import EpisodeState
from recorder.streams import FrameEncoding, ImageStreamSpec, StreamRole
from recorder.validate import verify
from recorder.writer import open_stream
from tests.recorder.samples import new_episode, stamp_ns

RAW = ImageStreamSpec(name="raw", rate_hz=30, height=10, width=14, encoding=FrameEncoding.RAW)
DEPTH = ImageStreamSpec(
    name="depth",
    role=StreamRole.DEPTH,
    rate_hz=30,
    height=10,
    width=14,
    encoding=FrameEncoding.DEPTH16,
    unit="mm",
    scale=0.1,
)
SPECS = pytest.mark.parametrize("spec", [RAW, DEPTH], ids=["raw", "depth16"])


def shape_of(spec: ImageStreamSpec) -> tuple[int, ...]:
    return (10, 14, 3) if spec is RAW else (10, 14)


def frames(spec: ImageStreamSpec, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    dtype, top = (np.uint8, 256) if spec is RAW else (np.uint16, 65536)
    return [rng.integers(0, top, shape_of(spec), dtype=dtype) for _ in range(count)]


def record(folder: Path, spec: ImageStreamSpec, pictures: list[np.ndarray], *, finish: bool = True) -> Path:
    writer = EpisodeWriter.create(folder, new_episode([spec]))
    stream = open_stream(writer.path, spec)
    for row, picture in enumerate(pictures):
        stream.append(stamp_ns(row, 30), stamp_ns(row, 30) + 5, picture)
    summary = stream.close()
    if finish:
        writer.finish(stamp_ns(len(pictures), 30), {spec.name: summary})
    else:
        writer._release()  # as the kernel does when the process dies
    return writer.path


def read(path: Path, spec: ImageStreamSpec) -> list[np.ndarray]:
    stream = open_episode(path).streams[spec.name]
    assert isinstance(stream, ImageStream)
    return [stream.frame(row) for row in range(len(stream))]


@SPECS
def test_every_value_comes_back_through_us_and_plain_zarr(tmp_path: Path, spec: ImageStreamSpec) -> None:
    pictures = frames(spec, 300)  # more than one shard
    path = record(tmp_path, spec, pictures)
    np.testing.assert_array_equal(read(path, spec), pictures)
    array = zarr.open(str(path), mode="r")[spec.name]["image"]
    np.testing.assert_array_equal(array[:], pictures)
    np.testing.assert_array_equal(array[257], pictures[257])
    assert [finding for finding in verify(path) if finding.severity == "error"] == []


def test_depth_says_what_it_measures(tmp_path: Path) -> None:
    path = record(tmp_path, DEPTH, frames(DEPTH, 2))
    attributes = dict(zarr.open(str(path), mode="r")["depth"]["image"].attrs)
    assert attributes["units"] == "mm"
    assert attributes["scale_factor"] == 0.1


@settings(max_examples=20, deadline=None)
@given(picture=npst.arrays(np.uint16, (10, 14), elements=st.integers(0, 65535)))
def test_any_depth_survives(picture: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> None:
    (back,) = read(record(tmp_path_factory.mktemp("depth"), DEPTH, [picture]), DEPTH)
    np.testing.assert_array_equal(back, picture)


@SPECS
@pytest.mark.parametrize("wrong", ["dtype", "shape", "bytes"])
def test_a_frame_of_another_kind_is_refused_whole(tmp_path: Path, spec: ImageStreamSpec, wrong: str) -> None:
    writer = EpisodeWriter.create(tmp_path, new_episode([spec]))
    stream = open_stream(writer.path, spec)
    (good,) = frames(spec, 1)
    bad = {"dtype": good.astype(np.float32), "shape": good[:-1], "bytes": good.tobytes()}[wrong]
    with pytest.raises(StreamValueError):
        stream.append(stamp_ns(0), stamp_ns(0) + 5, bad)
    stream.append(stamp_ns(1), stamp_ns(1) + 5, good)
    assert stream.close().samples == 1
    writer.discard()


@SPECS
def test_an_interrupted_recording_is_repaired_and_a_torn_frame_cut_off(tmp_path: Path, spec: ImageStreamSpec) -> None:
    pictures = frames(spec, 20)
    path = record(tmp_path, spec, pictures, finish=False)
    (shard,) = (file for file in (path / spec.name / "image" / "c").rglob("*") if file.is_file())
    shard.write_bytes(shard.read_bytes()[: -256 * 16 - 4 - 100])  # the index and part of the last frame
    report = recover(path)
    assert report.info.state is EpisodeState.RECOVERED
    back = read(path, spec)
    assert 10 <= len(back) < 20
    np.testing.assert_array_equal(back, pictures[: len(back)])
    assert recover(path).repaired is False


@SPECS
def test_a_flipped_bit_is_found_where_it_is(tmp_path: Path, spec: ImageStreamSpec) -> None:
    path = record(tmp_path, spec, frames(spec, 5))
    (shard,) = (file for file in (path / spec.name / "image" / "c").rglob("*") if file.is_file())
    data = bytearray(shard.read_bytes())
    data[len(data) // 3] ^= 0x10
    shard.write_bytes(data)
    errors = [finding for finding in verify(path) if finding.severity == "error"]
    assert errors
    assert {(finding.stream, finding.array) for finding in errors} == {(spec.name, "image")}


@pytest.mark.parametrize(
    "change",
    [{"encoding": "depth16"}, {"unit": "mm"}, {"scale": 0.5}, {"role": "depth"}, {"encoding": "depth16", "unit": "mm"}],
)
def test_a_stream_that_makes_no_sense_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="stream front"):
        ImageStreamSpec.model_validate({"name": "front", "rate_hz": 30, "height": 4, "width": 4, **change})
