"""The Parquet tables of a LeRobot v3.0 data set and the places of its files.

One episode a file: a file is then written by one process and never appended to. The format allows it, since every
episode's row names its files; a folder (chunk) holds at most 1000 of them.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recorder.exporters.lerobot_stats import NAMES

FILES_PER_CHUNK = 1000
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
TASKS_PATH = "meta/tasks.parquet"
INFO_PATH = "meta/info.json"
STATS_PATH = "meta/stats.json"
SEGMENTS = "intervention/segments"

Features = Mapping[str, Mapping[str, Any]]

DEFAULT_FEATURES: Features = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
_SCALARS = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_()}


def place(number: int) -> tuple[int, int]:
    """Give the chunk and the file in it of episode `number`."""
    return divmod(number, FILES_PER_CHUNK)


def data_path(number: int) -> str:
    """Give the data file of an episode, relative to the data set."""
    chunk, file = place(number)
    return DATA_PATH.format(chunk_index=chunk, file_index=file)


def video_path(key: str, number: int) -> str:
    """Give the video file of an episode and a camera, relative to the data set."""
    chunk, file = place(number)
    return VIDEO_PATH.format(video_key=key, chunk_index=chunk, file_index=file)


def video_keys(features: Features) -> list[str]:
    """Name the columns that are videos."""
    return [key for key, feature in features.items() if feature["dtype"] == "video"]


def _column_type(feature: Mapping[str, Any]) -> pa.DataType:
    scalar, size = _SCALARS[feature["dtype"]], feature["shape"][0]
    return scalar if size == 1 else pa.list_(scalar, size)


def write_rows(path: Path, features: Features, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write one episode's rows.

    Args:
        path: The file.
        features: All columns; those of videos have no values.
        columns: Name -> (rows,) or (rows, size), in any dtype that fits the feature's.
    """
    arrays, fields = [], []
    for key, feature in features.items():
        if feature["dtype"] == "video":
            continue
        kind = _column_type(feature)
        flat = pa.array(np.ascontiguousarray(columns[key], feature["dtype"]).reshape(-1))
        arrays.append(pa.FixedSizeListArray.from_arrays(flat, type=kind) if pa.types.is_fixed_size_list(kind) else flat)
        fields.append(pa.field(key, kind))
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path, compression="snappy")


def read_column(path: Path, key: str) -> NDArray[Any]:
    """Read one column of an episode's rows, (rows, size)."""
    column = pq.read_table(path, columns=[key]).column(0).combine_chunks()
    rows = len(column)
    if pa.types.is_fixed_size_list(column.type):
        column = column.flatten()
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False).reshape(rows, -1)
    return values


def write_tasks(path: Path, tasks: Sequence[str]) -> None:
    """Write the tasks; the schema says as pandas does that the text is the index, which LeRobot looks it up by."""
    columns = [
        {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64"},
        {"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object"},
    ]
    note = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [column | {"metadata": None} for column in columns],
        "creator": {"library": "pyarrow", "version": "0"},
        "pandas_version": "2.2.0",
    }
    schema = pa.schema([("task_index", pa.int64()), ("task", pa.string())], metadata={"pandas": json.dumps(note)})
    table = pa.Table.from_arrays([pa.array(range(len(tasks)), pa.int64()), pa.array(tasks, pa.string())], schema=schema)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def write_episodes(path: Path, features: Features, episodes: Sequence[Mapping[str, Any]]) -> None:
    """Write one row an episode.

    Args:
        path: The file.
        features: All columns of the data set.
        episodes: For each: `episode_index`, `tasks`, `length` [rows], `seconds` [s], `from` (its first row), `stats` by
            feature, and `segments`.
    """
    zeros = pa.array([0] * len(episodes), pa.int64())
    columns = _episode_columns(episodes)
    for key in video_keys(features):
        columns |= {f"videos/{key}/{part}": columns[f"data/{part}"] for part in ("chunk_index", "file_index")}
        columns[f"videos/{key}/from_timestamp"] = pa.array([0.0] * len(episodes), pa.float64())
        columns[f"videos/{key}/to_timestamp"] = pa.array([episode["seconds"] for episode in episodes], pa.float64())
    for key, feature in features.items():
        for name in NAMES:
            kind = _stat_type(name, feature["dtype"])
            columns[f"stats/{key}/{name}"] = pa.array([episode["stats"][key][name] for episode in episodes], kind)
    columns[SEGMENTS] = pa.array([json.dumps(episode["segments"]) for episode in episodes], pa.string())
    columns |= {"meta/episodes/chunk_index": zeros, "meta/episodes/file_index": zeros}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def _episode_columns(episodes: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    places = [place(episode["episode_index"]) for episode in episodes]
    columns: dict[str, Any] = {
        "episode_index": [episode["episode_index"] for episode in episodes],
        "length": [episode["length"] for episode in episodes],
        "data/chunk_index": [chunk for chunk, _ in places],
        "data/file_index": [file for _, file in places],
        "dataset_from_index": [episode["from"] for episode in episodes],
        "dataset_to_index": [episode["from"] + episode["length"] for episode in episodes],
    }
    tasks = pa.array([episode["tasks"] for episode in episodes], pa.list_(pa.string()))
    return {name: pa.array(values, pa.int64()) for name, values in columns.items()} | {"tasks": tasks}


def _stat_type(name: str, dtype: str) -> pa.DataType:
    if name == "count":
        return pa.list_(pa.int64())
    number = pa.list_(pa.float64())
    return pa.list_(pa.list_(number)) if dtype == "video" else number


def info(features: Features, episodes: int, rows: int, tasks: int, robot_type: str | None, fps: int) -> dict[str, Any]:
    """Give the content of meta/info.json."""
    return {
        "codebase_version": "v3.0",
        "robot_type": robot_type,
        "total_episodes": episodes,
        "total_frames": rows,
        "total_tasks": tasks,
        "chunks_size": FILES_PER_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": fps,
        "splits": {"train": f"0:{episodes}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if video_keys(features) else None,
        "features": {key: dict(feature) for key, feature in features.items()},
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON as LeRobot does, indented by four; a number that JSON does not have raises ValueError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
