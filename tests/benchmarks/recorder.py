"""What recording costs, beside writing the same bytes to a plain file, MCAP, HDF5 and plain Zarr in the same run.

Times depend on the machine and on what else runs, so every limit on a time is a multiple of a baseline measured here.
Appends of the candidates are interleaved in short turns, so that a busy moment meets all of them.
Run as `python -m tests.benchmarks.recorder`: as a script it would shadow the package of its own name.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import h5py
import imagecodecs
import numpy as np
import zarr
from mcap.writer import CompressionType, Writer

from recorder import jpeg_codec
from recorder.episode_writer import EpisodeWriter, NewEpisode
from recorder.reader import open_episode
from recorder.streams import AnyStreamSpec, FieldSpec, ImageStreamSpec, NumericStreamSpec, StreamRole
from recorder.writer import StreamWriter, close_all, open_stream

JOINTS = 7
START_NS = 1_000_000_000
TURN = 50
PARTS, READS = 3, 30
"""Every series is looked at in so many parts, of which the quietest counts; reads in a part."""
ARM = NumericStreamSpec(
    name="arm",
    role=StreamRole.STATE,
    rate_hz=200,
    fields=tuple(
        FieldSpec(name=name, shape=(JOINTS,), dims=("joint",), unit=unit)
        for name, unit in (("position", "rad"), ("velocity", "rad/s"))
    ),
)
PAD = NumericStreamSpec(
    name="pad",
    role=StreamRole.TACTILE,
    rate_hz=100,
    fields=(FieldSpec(name="force", dtype="float32", shape=(16, 16), dims=("y", "x"), unit="N"),),
)
CONTROL = NumericStreamSpec(
    name="control",
    rate_hz=200,
    fields=(
        *(FieldSpec(name=f"vector{index}", shape=(JOINTS,), dims=("joint",), unit="rad") for index in range(6)),
        *(FieldSpec(name=f"flag{index}", dtype="bool") for index in range(4)),
        *(FieldSpec(name=f"stamp{index}", dtype="int64", unit="ns") for index in range(3)),
        FieldSpec(name="source", dtype="uint8"),
        FieldSpec(name="blend"),
    ),
)
CAMERAS = tuple(ImageStreamSpec(name=f"camera{index}", rate_hz=30, height=480, width=640) for index in range(3))
VECTOR = np.linspace(-1, 1, JOINTS)
VALUES: dict[str, Mapping[str, Any]] = {
    "arm": {"position": VECTOR, "velocity": VECTOR},
    "pad": {"force": np.ones((16, 16), np.float32)},
    "control": {
        **{f"vector{index}": VECTOR for index in range(6)},
        **{f"flag{index}": index > 1 for index in range(4)},
        **{f"stamp{index}": START_NS + index for index in range(3)},
        "source": 1,
        "blend": 0.5,
    },
}


def picture() -> np.ndarray:
    """A scene with edges, gradients and some noise, (480, 640, 3)."""
    y, x = np.mgrid[0:480, 0:640]
    scene = np.stack([x * 255 // 640, y * 255 // 480, ((x // 40 + y // 40) % 2) * 180], axis=2)
    return np.clip(scene + np.random.default_rng(3).normal(0, 4, scene.shape), 0, 255).astype(np.uint8)


PIXELS = picture()
JPEG: bytes = imagecodecs.jpeg8_encode(PIXELS, level=90)


class Candidate(Protocol):
    """Something that takes samples one at a time."""

    def append(self, row: int, data: Any) -> None:
        """Take one sample."""

    def close(self) -> object:
        """End."""


class Ours:
    """One stream of an episode of its own."""

    def __init__(self, folder: Path, spec: AnyStreamSpec) -> None:
        self.episode = EpisodeWriter.create(folder, new_episode((spec,)))
        self.stream = open_stream(self.episode.path, spec)
        self.spec = spec

    def append(self, row: int, data: Any) -> None:
        stamp = START_NS + 1 + row * round(1e9 / self.spec.rate_hz)
        self.stream.append(stamp, stamp + 1000, data)

    def close(self) -> None:
        summary = self.stream.close()
        self.episode.finish((summary.last_ns or START_NS) + 1, {self.spec.name: summary})


class PlainFile:
    """The same bytes to one unbuffered file: nothing can be cheaper and still survive a kill."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)

    def append(self, row: int, data: Any) -> None:
        os.write(self.descriptor, row.to_bytes(8, "little") + as_bytes(data))

    def close(self) -> None:
        os.close(self.descriptor)


class Mcap:
    """MCAP without compression, in its default chunks."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.writer = Writer(self.file, compression=CompressionType.NONE)
        self.writer.start()
        schema = self.writer.register_schema("bytes", "", b"")
        self.channel = self.writer.register_channel("/stream", "bytes", schema)

    def append(self, row: int, data: Any) -> None:
        self.writer.add_message(self.channel, log_time=row, publish_time=row, data=as_bytes(data))

    def close(self) -> None:
        self.writer.finish()
        self.file.close()


class Hdf5:
    """One resized dataset, flushed after every row, without which a kill makes the file unreadable."""

    def __init__(self, path: Path, size: int) -> None:
        self.file = h5py.File(path, "w")
        self.rows = self.file.create_dataset(
            "rows", (0, size), "u1", maxshape=(None, size), chunks=(max(1, 2**16 // size), size)
        )

    def append(self, row: int, data: Any) -> None:
        self.rows.resize(row + 1, axis=0)
        self.rows[row] = np.frombuffer(as_bytes(data), np.uint8)
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class PlainZarr:
    """`zarr.Array.append`, one row at a time."""

    def __init__(self, path: Path, row: np.ndarray, **options: Any) -> None:
        self.row = row[None]
        self.array = zarr.create_array(path, shape=(0, *row.shape), dtype=row.dtype, **options)

    def append(self, row: int, data: Any) -> None:
        self.array.append(self.row)

    def close(self) -> None:
        pass


def as_bytes(data: Any) -> bytes:
    return data if isinstance(data, bytes) else b"".join(value.tobytes() for value in data.values())


def new_episode(specs: tuple[AnyStreamSpec, ...]) -> NewEpisode:
    return NewEpisode(start_ns=START_NS, utc_ns=1_790_000_000 * 10**9, task="benchmark", stream_specs=specs)


def append_times(candidates: Mapping[str, tuple[Candidate, int]], data: Any) -> dict[str, np.ndarray]:
    """Time of every append [us], for each candidate up to its own number of rows, in turns."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    while unfinished := [name for name, (_, rows) in candidates.items() if len(times[name]) < rows]:
        for name in unfinished:
            candidate, rows = candidates[name]
            for row in range(len(times[name]), min(rows, len(times[name]) + TURN)):
                begin = time.perf_counter_ns()
                candidate.append(row, data)
                times[name].append((time.perf_counter_ns() - begin) / 1e3)
    for candidate, _ in candidates.values():
        candidate.close()
    return {name: np.array(found) for name, found in times.items()}


def quietest(times: np.ndarray, percentile: float) -> float:
    """The percentile within the quietest part of a run: other processes disturb, and never help."""
    return min(float(np.percentile(part, percentile)) for part in np.array_split(times, PARTS))


def row(name: str, value: float, unit: str, limit: float | None = None) -> dict[str, Any]:
    """One result; no limit means that it is shown only."""
    shown = None if limit is None else round(limit, 3)
    return {"name": name, "value": round(value, 3), "unit": unit, "limit": shown, "ok": limit is None or value <= limit}


def measure_appends(folder: Path) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Append latency of a vector sample and of an encoded frame."""
    frames = {"chunks": (1, 480, 640, 3), "serializer": jpeg_codec.JpegCodec(level=90), "compressors": None}
    size = 2 * 8 * JOINTS
    cases: dict[str, tuple[Any, dict[str, tuple[Candidate, int]], float, float]] = {
        "vector": (
            VALUES["arm"],
            {
                "ours": (Ours(folder / "vector", ARM), 12000),
                "file": (PlainFile(folder / "vector.bin"), 12000),
                "mcap": (Mcap(folder / "vector.mcap"), 12000),
                "h5py": (Hdf5(folder / "vector.h5", size), 1000),
                "zarr": (PlainZarr(folder / "vector.zarr", np.concatenate([VECTOR, VECTOR]), chunks=(4096, 14)), 100),
            },
            6.0,
            6.0,
        ),
        "frame": (
            JPEG,
            {
                "ours": (Ours(folder / "frame", CAMERAS[0]), 1500),
                "file": (PlainFile(folder / "frame.bin"), 1500),
                "mcap": (Mcap(folder / "frame.mcap"), 1500),
                "h5py": (Hdf5(folder / "frame.h5", len(JPEG)), 300),
                "zarr": (PlainZarr(folder / "frame.zarr", PIXELS, **frames), 30),
            },
            3.0,
            3.0,
        ),
    }
    rows, baseline = [], {}
    for case, (data, candidates, p50_ratio, p99_ratio) in cases.items():
        times = append_times(candidates, data)
        for name, found in times.items():
            for percentile in (50, 99):
                baseline[f"{case} append {name} p{percentile} us"] = round(quietest(found, percentile), 2)
        for percentile, ratio in ((50, p50_ratio), (99, p99_ratio)):
            limit = ratio * quietest(times["file"], percentile)
            value = quietest(times["ours"], percentile)
            rows.append(row(f"{case} append p{percentile}", value, "us", limit))
    return rows, baseline


def cpu_ms(work: Callable[[], object]) -> float:
    """CPU of this process, all threads [ms]."""
    begin = time.process_time_ns()
    work()
    return (time.process_time_ns() - begin) / 1e6


def measure_cpu(folder: Path, pairs: int = 100) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """CPU for one frame of each of two cameras, from append to closed episode."""

    def record(data: Any, name: str) -> Callable[[], None]:
        def work() -> None:
            cameras = [Ours(folder / f"{name}{index}", CAMERAS[0]) for index in range(2)]
            for pair in range(pairs):
                for camera in cameras:
                    camera.append(pair, data)
            for camera in cameras:
                camera.close()

        return work

    def write() -> None:
        file = PlainFile(folder / "pairs.bin")
        for pair in range(2 * pairs):
            file.append(pair, JPEG)
        file.close()

    written = cpu_ms(write) / pairs
    encoding = cpu_ms(lambda: [imagecodecs.jpeg8_encode(PIXELS, level=90) for _ in range(2 * pairs)]) / pairs
    passed = cpu_ms(record(JPEG, "passed")) / pairs
    encoded = cpu_ms(record(PIXELS, "encoded")) / pairs
    rows = [
        row("CPU per frame pair, passed through", passed, "ms", 10 * written),
        row("CPU per frame pair, encoded", encoded, "ms", 1.5 * encoding + 10 * written),
    ]
    return rows, {"frame pair to a file, CPU ms": round(written, 3), "encoding a pair, CPU ms": round(encoding, 3)}


def record_load(folder: Path, seconds: int) -> tuple[EpisodeWriter, dict[str, tuple[AnyStreamSpec, StreamWriter]]]:
    """Three cameras, an arm at 200 Hz, a pad at 100 Hz, the control loop's record; all but the last second synced."""
    specs = (ARM, PAD, CONTROL, *CAMERAS)
    writer = EpisodeWriter.create(folder, new_episode(specs))
    streams = {spec.name: (spec, open_stream(writer.path, spec)) for spec in specs}
    for second in range(seconds):
        for spec, stream in streams.values():
            if second == seconds - 1:
                stream.commit()
            for index in range(int(spec.rate_hz)):
                stamp = START_NS + 1 + second * 10**9 + round(index * 1e9 / spec.rate_hz)
                stream.append(stamp, stamp + 1000, VALUES.get(spec.name, JPEG))
    return writer, streams


def measure_close(folder: Path, seconds: int = 60) -> tuple[list[dict[str, Any]], dict[str, float], Path]:
    """Time from stop to a complete episode, files, and the cost of syncing the same last second to plain files."""
    writer, streams = record_load(folder / "load", seconds)
    begin = time.perf_counter()
    summaries = close_all({name: stream for name, (_, stream) in streams.items()})
    writer.finish(START_NS + seconds * 10**9, summaries)
    close_ms = (time.perf_counter() - begin) * 1e3

    files = [path for path in writer.path.rglob("*") if path.is_file()]
    data_files = [path for path in files if path.name != "zarr.json"]
    begin = time.perf_counter()
    for index in range(len(streams) * 6):
        with (folder / f"plain{index}.bin").open("wb") as file:
            file.write(
                b"\x01" * (sum(summary.bytes for summary in summaries.values()) // seconds // (len(streams) * 6))
            )
            file.flush()
            os.fdatasync(file.fileno())
    plain_ms = (time.perf_counter() - begin) * 1e3
    rows = [
        row("close after a minute", close_ms, "ms", max(100.0, 3 * plain_ms)),
        row("data files per minute", len(data_files) * 60 / seconds, "files", 60),
        row("metadata files per episode", len(files) - len(data_files), "files"),
        row("samples of that minute dropped", sum(summary.drops for summary in summaries.values()), "samples", 0),
    ]
    return rows, {"one second to as many plain files, synced, ms": round(plain_ms, 2)}, writer.path


def measure_reads(path: Path) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Random reads of a frame, through our reader and through Zarr."""
    jpeg_codec.register()
    stream = open_episode(path).streams["camera0"]
    array = zarr.open_group(path, mode="r")["camera0/image"]

    reads: dict[str, Callable[[int], object]] = {
        "decode": lambda _: imagecodecs.jpeg8_decode(JPEG),
        "ours": stream.frame,
        "zarr": lambda pick: array[pick],
    }
    times = np.empty((PARTS, READS, len(reads)))
    for (turn, index), pick in np.ndenumerate(np.random.default_rng(5).integers(0, len(stream), times.shape[:2])):
        for column, read in enumerate(reads.values()):
            begin = time.perf_counter()
            read(int(pick))
            times[turn, index, column] = (time.perf_counter() - begin) * 1e3
    decode, ours, plain = np.median(times, axis=1).min(axis=0).tolist()
    rows = [
        row("random frame through our reader", ours, "ms", 2 * decode),
        row("random frame through plain zarr", plain, "ms", 8 * decode),
    ]
    return rows, {"decoding alone, ms": round(decode, 3)}


def run() -> dict[str, Any]:
    """Measure everything in a folder that is removed again."""
    load_before = os.getloadavg()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        appends, append_baseline = measure_appends(folder)
        cpu, cpu_baseline = measure_cpu(folder)
        closing, close_baseline, path = measure_close(folder)
        reads, read_baseline = measure_reads(path)
    return {
        "name": "recorder",
        "rows": [*appends, *cpu, *closing, *reads],
        "baseline": {**append_baseline, **cpu_baseline, **close_baseline, **read_baseline},
        "frame_bytes": len(JPEG),
        "load": {"average_before": load_before, "average_after": os.getloadavg(), "cores": os.cpu_count()},
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(), indent=1) + "\n")
