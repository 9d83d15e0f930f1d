"""Export to LeRobot v3.0, the format that LeRobot 0.4 and later trains on.

Each episode is one data file and one video a camera, written by one process; the merge writes the tables in `meta`.
What was done to the streams on the way stands in `meta/teleop_export.json`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from recorder.collection import find
from recorder.errors import ExportError
from recorder.exporters import lerobot_shard
from recorder.exporters.contract import ExportReport, Plan, Progress, Shard, ShardResult, Workers
from recorder.exporters.lerobot_options import LerobotOptions
from recorder.exporters.lerobot_plan import make_plan
from recorder.exporters.lerobot_stats import Stats, image_stats, vector_stats
from recorder.exporters.lerobot_tables import (
    EPISODES_PATH,
    INFO_PATH,
    STATS_PATH,
    TASKS_PATH,
    data_path,
    info,
    read_column,
    video_keys,
    write_episodes,
    write_json,
    write_tasks,
)
from recorder.exporters.lerobot_verify import dataset_problems
from recorder.exporters.run import run_export

MANIFEST = "meta/teleop_export.json"


def export_lerobot(
    source: Path | Sequence[Path],
    out: Path,
    *,
    fps: int | None = None,
    workers: int = 0,
    options: LerobotOptions | None = None,
    progress: Progress | None = None,
) -> ExportReport:
    """Export a collection, or chosen episodes, to a LeRobot v3.0 data set.

    Args:
        source: A collection's folder, one episode's, or several episodes' in the order wanted.
        out: Folder to make; it appears whole at the end, or not at all.
        fps: Rows a second [Hz]; None for what the options say, 30 by default.
        workers: Processes; 0 for one a core.
        options: Alignment, compression, choice of episodes, and whether `out` may be replaced.
        progress: Called after each episode with the number done and the number in all.

    Returns:
        What went in, what was left out and why, and how fast it was.

    Raises:
        ExportError: It cannot be made as asked.
        EpisodeNotFoundError: There is no collection at `source`.
    """
    chosen = options or LerobotOptions()
    if fps is not None:
        try:
            chosen = LerobotOptions.model_validate(dict(chosen) | {"fps": fps})
        except ValidationError as error:
            raise ExportError(f"fps must be a whole number from 1 to 1000, not {fps}") from error
    episodes = find(source) if isinstance(source, Path) else source
    exporter = LerobotExporter(chosen)
    return run_export(exporter, episodes, out, workers=workers, overwrite=chosen.overwrite, progress=progress)


@dataclass(frozen=True, slots=True)
class LerobotExporter:
    """The exporter contract for LeRobot v3.0."""

    options: LerobotOptions

    @property
    def marker(self) -> str:
        """The file that says what was done."""
        return MANIFEST

    def plan(self, episodes: Sequence[Path], workers: Workers) -> Plan:
        """Decide which episodes go in, and which rows of them where."""
        return make_plan(episodes, self.options, workers)

    def write_shard(self, plan: Plan, shard: Shard, folder: Path) -> ShardResult:
        """Write one episode's data file and videos."""
        return lerobot_shard.write_shard(plan, shard, folder)

    def merge(self, plan: Plan, results: Sequence[ShardResult], folder: Path) -> None:
        """Write `meta`; statistics are taken from the rows as written."""
        episode_stats, whole = _stats(plan, results, folder)
        fps = int(plan.options["fps"])
        episodes = [
            {
                "episode_index": shard.index,
                "tasks": [shard.task],
                "length": shard.rows,
                "seconds": shard.rows / fps,
                "from": shard.first_index,
                "stats": stats,
                "segments": result.facts["segments"],
            }
            for shard, result, stats in zip(plan.shards, results, episode_stats, strict=True)
        ]
        write_episodes(folder / EPISODES_PATH, plan.features, episodes)
        write_tasks(folder / TASKS_PATH, plan.tasks)
        write_json(folder / STATS_PATH, whole)
        robot = plan.options["robot_type"]
        write_json(folder / INFO_PATH, info(plan.features, len(episodes), plan.rows, len(plan.tasks), robot, fps))
        write_json(folder / MANIFEST, _manifest(plan))

    def verify(self, plan: Plan, folder: Path) -> tuple[str, ...]:
        """Open the data set again and count."""
        return dataset_problems(plan, folder)


def _stats(plan: Plan, results: Sequence[ShardResult], folder: Path) -> tuple[list[dict[str, Stats]], dict[str, Stats]]:
    """Compute the statistics of each episode and of all rows together."""
    episodes: list[dict[str, Stats]] = [{} for _ in plan.shards]
    whole: dict[str, Stats] = {}
    videos = video_keys(plan.features)
    for key in plan.features:
        parts = _image_parts(key, results) if key in videos else _vector_parts(key, plan, folder)
        if key in videos:
            for stats, result, part in zip(episodes, results, parts, strict=True):
                stats[key] = image_stats(part, result.rows)
            whole[key] = image_stats(np.sum(parts, axis=0), plan.rows)
        else:
            for stats, part in zip(episodes, parts, strict=True):
                stats[key] = vector_stats(part)
            whole[key] = vector_stats(np.concatenate(parts))
    return episodes, whole


def _image_parts(key: str, results: Sequence[ShardResult]) -> list[Any]:
    return [np.array(result.facts["histograms"][key], np.int64) for result in results]


def _vector_parts(key: str, plan: Plan, folder: Path) -> list[Any]:
    return [read_column(folder / data_path(shard.index), key) for shard in plan.shards]


def _manifest(plan: Plan) -> dict[str, Any]:
    """Say what was done; nothing here depends on when or where the export ran."""
    return {
        "format": plan.format,
        "reference_clock": plan.options["clock"],
        "options": plan.options,
        "labels": "control_source and intervention are those of the last control tick at or before the row",
        "action": "the command sent after all limits at that tick; in a passive episode the foreign controller's",
        "statistics": "exact over all rows of all episodes; images over all pixels before compression",
        "episodes": [
            {"episode_index": shard.index, "episode_id": shard.episode_id, "rows": [shard.start, shard.stop]}
            for shard in plan.shards
        ],
        "sources": list(plan.sources),
        "left_out": [left.model_dump() for left in plan.left_out],
        "notes": list(plan.notes),
    }
