"""Small episodes with known content, for the recorder's tests."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from recorder import jpeg
from recorder.episode import EpisodeInfo
from recorder.episode_writer import EpisodeWriter, NewEpisode
from recorder.streams import AnyStreamSpec, FieldSpec, ImageStreamSpec, NumericStreamSpec, StreamRole
from recorder.writer import open_stream

START_NS = 1_000_000_000
JOINTS = ("base", "shoulder", "elbow", "wrist", "roll", "gripper")
ARM = NumericStreamSpec(
    name="arm",
    role=StreamRole.STATE,
    rate_hz=200,
    fields=(
        FieldSpec(name="position", shape=(6,), dims=("joint",), unit="rad", labels=JOINTS),
        FieldSpec(name="moving", dtype="bool"),
        FieldSpec(name="mode", dtype="uint8", codes={"off": 0, "on": 1}),
    ),
)
PAD = NumericStreamSpec(
    name="pad",
    role=StreamRole.TACTILE,
    rate_hz=4,
    fields=(FieldSpec(name="force", dtype="float32", shape=(4, 3), dims=("y", "x"), unit="N"),),
)
"""Slow, so that its chunks have 256 rows."""
CAMERA = ImageStreamSpec(name="camera", rate_hz=30, height=16, width=24)
SPECS: tuple[AnyStreamSpec, ...] = (ARM, PAD, CAMERA)


def stamp_ns(row: int, rate_hz: float = 100.0) -> int:
    """Stamp of a row at a rate, from the start of the episode [ns]."""
    return START_NS + 1 + round(row * 1e9 / rate_hz)


def arm_values(row: int) -> dict[str, object]:
    return {"position": np.arange(6) + row / 8, "moving": row % 3 == 0, "mode": row % 2}


def pad_values(row: int) -> dict[str, object]:
    return {"force": np.full((4, 3), row, dtype=np.float32)}


@cache
def _pictures() -> tuple[bytes, ...]:
    rng = np.random.default_rng(7)
    return tuple(jpeg.encode(rng.integers(0, 255, (16, 24, 3), dtype=np.uint8), CAMERA) for _ in range(8))


def frame(row: int) -> bytes:
    """A JPEG that differs from all others: what follows the end of the image is kept too."""
    return _pictures()[row % 8] + row.to_bytes(4, "big") * (row % 5)


def values(name: str, row: int) -> object:
    """What row `row` of a stream holds."""
    return {"arm": arm_values, "pad": pad_values, "camera": frame}[name](row)


def new_episode(specs: Iterable[AnyStreamSpec] = SPECS, **changes: object) -> NewEpisode:
    facts = {"start_ns": START_NS, "utc_ns": 1_790_000_000 * 10**9, "task": "pick", "stream_specs": tuple(specs)}
    return NewEpisode.model_validate(facts | changes)


def record(collection: Path, rows: dict[str, int], specs: Iterable[AnyStreamSpec] = SPECS) -> tuple[Path, EpisodeInfo]:
    """Record a finished episode of streams with so many rows each, at their declared rates."""
    writer = EpisodeWriter.create(collection, new_episode(specs))
    summaries, last = {}, START_NS
    for spec in specs:
        stream = open_stream(writer.path, spec)
        for row in range(rows[spec.name]):
            last = max(last, stamp_ns(row, spec.rate_hz))
            stream.append(stamp_ns(row, spec.rate_hz), stamp_ns(row, spec.rate_hz) + 5, values(spec.name, row))
        summaries[spec.name] = stream.close()
    return writer.path, writer.finish(last + 1, summaries)


def check_rows(path: Path, counts: dict[str, int]) -> None:
    """Assert that an episode holds exactly the known rows, so many of each stream."""
    from recorder.reader import ImageStream, open_episode

    for name, stream in open_episode(path).streams.items():
        assert len(stream) == counts[name], name
        expected = [stamp_ns(row, stream.spec.rate_hz) for row in range(len(stream))]
        assert stream.time.tolist() == expected
        assert stream.received.tolist() == [stamp + 5 for stamp in expected]
        if isinstance(stream, ImageStream):
            assert all(stream.jpeg(row) == frame(row) for row in range(len(stream)))
            stream.close()
            continue
        rows = [values(name, row) for row in range(len(stream))]
        for field in stream.spec.fields:
            assert stream.field(field.name).tolist() == [np.asarray(row[field.name]).tolist() for row in rows]
