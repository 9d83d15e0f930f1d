"""Reads a recorded dataset (LeRobot v2.1: one parquet file and one video per episode) for playing it back."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.errors import DriverError
from drivers.samples import FloatArray

STATE_KEY, ACTION_KEY = "observation.state", "action"
JPEG_QUALITY = 95
NEEDS_EXPORT = "playing a dataset needs pyarrow and av: run `pip install 'teleop-app[export]'`"


@dataclass(frozen=True, slots=True)
class EpisodeFiles:
    """One episode on disk."""

    index: int
    parquet: Path
    video: Path


def joint_names(folder: Path, key: str) -> tuple[str, ...]:
    """Read the names of `key` from the dataset's info.json (in `folder` or its `meta`).

    Raises:
        DriverError: no info.json, or it does not name the joints.
    """
    candidates = [folder / "info.json", folder / "meta" / "info.json"]
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise DriverError(f"{folder} is no recorded dataset: it has no info.json")
    try:
        names = json.loads(path.read_text(encoding="utf-8"))["features"][key]["names"]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DriverError(f"{path} does not name the joints of {key}: {type(error).__name__} {error}") from error
    flat = names[0] if names and isinstance(names[0], list) else names
    if not flat:
        raise DriverError(f"{path} does not name the joints of {key}")
    return tuple(str(name) for name in flat)


def find_episodes(folder: Path, wanted: tuple[int, ...] | None) -> list[EpisodeFiles]:
    """List the episodes of `folder` by index: all, or those `wanted`.

    Raises:
        DriverError: no such folder, no episode, a wanted one is not there, or one has no video.
    """
    if not folder.is_dir():
        raise DriverError(f"{folder} is not a folder: give one with info.json, episode_*.parquet and episode_*.mp4")
    found = {int(path.stem.rpartition("_")[2]): path for path in sorted(folder.rglob("episode_*.parquet"))}
    if not found:
        raise DriverError(f"{folder} has no episode_*.parquet")
    chosen = sorted(found) if wanted is None else list(wanted)
    if missing := [index for index in chosen if index not in found]:
        raise DriverError(
            f"{folder} has no episode {', '.join(map(str, missing))}; it has {', '.join(map(str, sorted(found)))}"
        )
    return [EpisodeFiles(index, found[index], _video_of(folder, found[index])) for index in chosen]


def _video_of(folder: Path, parquet: Path) -> Path:
    videos = sorted(folder.rglob(f"{parquet.stem}.mp4"))
    if not videos:
        raise DriverError(f"{parquet} has no video {parquet.stem}.mp4 in {folder}")
    return videos[0]


def load_rows(parquet_path: Path, key: str) -> tuple[FloatArray, FloatArray]:
    """Read one vector column.

    Args:
        parquet_path: An episode's rows.
        key: Column name, such as observation.state.

    Returns:
        Times from the start of the episode [s], shape (rows,), and values widened to float64, shape (rows, width).

    Raises:
        DriverError: pyarrow is missing, the file cannot be read, or it lacks the column.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise DriverError(NEEDS_EXPORT) from error
    try:
        table = pq.read_table(parquet_path, columns=["timestamp", key])
        times = np.asarray(table.column("timestamp").to_numpy(), dtype=np.float64)
        values = np.asarray(table.column(key).to_pylist(), dtype=np.float64)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise DriverError(f"{parquet_path} cannot be read: {' '.join(str(error).split())[:200]}") from error
    if values.ndim != 2 or len(times) != len(values):
        raise DriverError(f"{parquet_path}: column {key} is not one vector per row")
    return times.reshape(-1), values


def decoded_frames(video_path: Path) -> Iterator[NDArray[np.uint8]]:
    """Decode a video to RGB frames, shape (height, width, 3), in order.

    Raises:
        DriverError: av is missing or the file cannot be decoded.
    """
    try:
        import av
    except ImportError as error:
        raise DriverError(NEEDS_EXPORT) from error
    try:
        with av.open(str(video_path)) as container:
            for frame in container.decode(video=0):
                yield frame.to_ndarray(format="rgb24")
    except (av.FFmpegError, OSError) as error:
        raise DriverError(f"{video_path} cannot be decoded: {error}") from error


def encoded_frames(video_path: Path) -> Iterator[bytes]:
    """Decode a video and encode each frame as JPEG; the same file and libraries give the same bytes.

    Raises:
        DriverError: as `decoded_frames`.
    """
    for frame in decoded_frames(video_path):
        _, data = cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        yield data.tobytes()


class Prefetch:
    """Runs an iterator in a thread, `ahead` items ahead, so that playing back does not wait for a decoder."""

    def __init__(self, make: Callable[[], Iterator[Any]], ahead: int) -> None:
        """Prepare; `start` starts the thread.

        Args:
            make: Makes the iterator, in the thread.
            ahead: Items kept at most: this bounds the memory.
        """
        self._make = make
        self._items: queue.Queue[Any] = queue.Queue(maxsize=ahead)
        self._ready, self._stop = threading.Event(), threading.Event()
        self._error: DriverError | None = None
        self._thread = threading.Thread(target=self._run, name="prefetch", daemon=True)

    def start(self) -> None:
        """Start, and wait until the queue is full or the iterator has ended.

        Raises:
            DriverError: as the iterator raised it.
        """
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            raise self._error

    def next(self) -> Any:
        """Return the next item, None after the last.

        Raises:
            DriverError: as the iterator raised it.
        """
        item = self._items.get()
        if item is None:
            self._items.put(None)
            if self._error is not None:
                raise self._error
        return item

    def close(self) -> None:
        """End the thread; idempotent."""
        self._stop.set()
        while self._thread.is_alive():
            self._drain()
            self._thread.join(0.02)

    def _drain(self) -> None:
        while not self._items.empty():
            self._items.get_nowait()

    def _run(self) -> None:
        try:
            for item in self._make():
                self._items.put(item)
                if self._items.full():
                    self._ready.set()
                if self._stop.is_set():
                    return
        except DriverError as error:
            self._error = error
        finally:
            self._ready.set()
        self._items.put(None)
