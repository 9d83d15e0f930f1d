"""Opening a LeRobot data set again and counting: what was planned must be what is there."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recorder.exporters.contract import Plan, Shard
from recorder.exporters.lerobot_tables import (
    EPISODES_PATH,
    INFO_PATH,
    STATS_PATH,
    TASKS_PATH,
    data_path,
    read_column,
    video_keys,
    video_path,
)
from recorder.exporters.lerobot_video import video_problems


def dataset_problems(plan: Plan, folder: Path) -> tuple[str, ...]:
    """Say what is wrong with a written data set, one sentence each."""
    return tuple(_problems(plan, folder))


def _problems(plan: Plan, folder: Path) -> Iterator[str]:
    try:
        yield from _meta_problems(plan, folder)
        for shard in plan.shards:
            yield from _data_problems(plan, shard, folder)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        yield f"a table does not open: {error}"
    fps = int(plan.options["fps"])
    for key in video_keys(plan.features):
        height, width, _ = plan.features[key]["shape"]
        for shard in plan.shards:
            path = folder / video_path(key, shard.index)
            yield from (f"{key}: {problem}" for problem in video_problems(path, shard.rows, fps, (height, width)))


def _meta_problems(plan: Plan, folder: Path) -> Iterator[str]:
    info = json.loads((folder / INFO_PATH).read_text(encoding="utf-8"))
    episodes = pq.read_table(folder / EPISODES_PATH).to_pydict()
    counts = {
        "episodes in info.json": (info["total_episodes"], len(plan.shards)),
        "rows in info.json": (info["total_frames"], plan.rows),
        "episodes in meta/episodes": (episodes["episode_index"], [shard.index for shard in plan.shards]),
        "first rows in meta/episodes": (episodes["dataset_from_index"], [shard.first_index for shard in plan.shards]),
        "lengths in meta/episodes": (episodes["length"], [shard.rows for shard in plan.shards]),
        "tasks": (pq.read_table(folder / TASKS_PATH)["task"].to_pylist(), list(plan.tasks)),
        "features in stats.json": (
            sorted(json.loads((folder / STATS_PATH).read_text(encoding="utf-8"))),
            sorted(plan.features),
        ),
    }
    for name, (found, right) in counts.items():
        if found != right:
            yield f"{name}: {found} instead of {right}"


def _data_problems(plan: Plan, shard: Shard, folder: Path) -> Iterator[str]:
    path = folder / data_path(shard.index)
    number = np.arange(shard.rows)
    expected = {
        "frame_index": number,
        "index": number + shard.first_index,
        "episode_index": np.full(shard.rows, shard.index),
        "timestamp": (number / int(plan.options["fps"])).astype(np.float32),
    }
    for key, right in expected.items():
        if not np.array_equal(read_column(path, key)[:, 0], right):
            yield f"{data_path(shard.index)}: {key} is not what it must be"
    for key in ("observation.state", "action"):
        if not np.isfinite(read_column(path, key)).all():
            yield f"{data_path(shard.index)}: {key} is not finite"
