"""Writing one episode of a LeRobot data set: its rows, its videos, and the facts that the merge needs."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.align import Alignment
from recorder.errors import ExportError
from recorder.exporters.contract import Plan, Shard, ShardResult
from recorder.exporters.inputs import inputs_of
from recorder.exporters.lerobot_features import IMAGES, TACTILE
from recorder.exporters.lerobot_options import LerobotOptions
from recorder.exporters.lerobot_stats import Histogram, frame_histogram
from recorder.exporters.lerobot_tables import data_path, video_path, write_rows
from recorder.exporters.lerobot_video import encode_video
from recorder.exporters.rows import EpisodeRows, episode_rows
from recorder.reader import ImageStream, open_episode


def write_shard(plan: Plan, shard: Shard, folder: Path) -> ShardResult:
    """Write the data file and the videos of one episode.

    Raises:
        ExportError: The episode is no longer as it was planned, or a frame is not of its stream's size.
    """
    began = time.perf_counter()
    options = LerobotOptions.model_validate(
        {key: value for key, value in plan.options.items() if key in LerobotOptions.model_fields}
    )
    tactile = [key.removeprefix(TACTILE) for key in plan.features if key.startswith(TACTILE)]
    rows = episode_rows(inputs_of(open_episode(shard.path)), options, tactile)
    if (shard.start, shard.stop) not in rows.ranges:
        raise ExportError(f"episode {shard.episode_id} has changed since the export was planned")
    write_rows(folder / data_path(shard.index), plan.features, _columns(rows, shard, options.fps, tactile))
    histograms = {}
    for camera in rows.inputs.cameras:
        key = IMAGES + camera.spec.name
        path = folder / video_path(key, shard.index)
        path.parent.mkdir(parents=True, exist_ok=True)
        frames = _Frames(camera, rows.picks[camera.spec.name].part(shard.start, shard.stop))
        encode_video(path, frames, options.fps, options.video)
        camera.close()
        histograms[key] = frames.histogram.tolist()
    return ShardResult(
        index=shard.index,
        rows=shard.rows,
        frames=shard.rows * len(histograms),
        seconds=time.perf_counter() - began,
        facts={"histograms": histograms, "segments": _segments(rows, shard)},
    )


def _columns(rows: EpisodeRows, shard: Shard, fps: int, tactile: list[str]) -> dict[str, NDArray[Any]]:
    span = slice(shard.start, shard.stop)
    number = np.arange(shard.rows, dtype=np.int64)
    columns: dict[str, NDArray[Any]] = {
        "observation.state": rows.column(rows.inputs.state, shard.start, shard.stop),
        "action": rows.column(rows.inputs.action, shard.start, shard.stop),
        "intervention": rows.intervention[span],
        "control_source": rows.source[span],
        "timestamp": number / fps,
        "frame_index": number,
        "episode_index": np.full(shard.rows, shard.index),
        "index": number + shard.first_index,
        "task_index": np.full(shard.rows, shard.task_index),
    }
    for vector in rows.inputs.tactile:
        name = vector.stream.spec.name
        if name in tactile:
            columns[TACTILE + name] = rows.column([vector], shard.start, shard.stop)
    return columns


class _Frames:
    """The frames of one camera on its rows; each is decoded once, and all of them are counted."""

    def __init__(self, camera: ImageStream, pick: Alignment) -> None:
        self._camera, self._pick = camera, pick
        self.histogram: Histogram = np.zeros((3, 256), np.int64)

    def __iter__(self) -> Iterator[tuple[NDArray[np.uint8], bool]]:
        """Yield the frames and whether each is the one before once more."""
        spec = self._camera.spec
        frame: NDArray[np.uint8] | None = None
        counts = self.histogram
        for index, repeated in zip(self._pick.lower.tolist(), self._pick.held.tolist(), strict=True):
            again = repeated and frame is not None
            if frame is None or not repeated:
                frame = self._camera.frame(index)
                if frame.shape != (spec.height, spec.width, 3):
                    raise ExportError(
                        f"frame {index} of {spec.name} is not {spec.width}x{spec.height} but {frame.shape}"
                    )
                counts = frame_histogram(frame)
            self.histogram += counts
            yield frame, again


def _segments(rows: EpisodeRows, shard: Shard) -> dict[str, Any]:
    """Give the runs of each control source and the interventions, in frames of this episode of the output."""
    return {
        "episode_id": shard.episode_id,
        "source_rows": [shard.start, shard.stop],
        "outcome": rows.inputs.episode.info.outcome.value,
        "segments": rows.segments(shard.start, shard.stop),
        "interventions": rows.interventions(shard.start, shard.stop),
    }
