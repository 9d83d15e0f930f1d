import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recorder.exporters.contract import Plan
from recorder.exporters.lerobot import LerobotExporter, LerobotOptions, export_lerobot
from recorder.exporters.workers import LocalWorkers
from recorder.segments import CollectionMode

Record = Callable[..., Path]
JUDGE = Path(__file__).parents[4] / "shared" / "judges" / "judge"
JUDGE_HOME = Path(os.environ.get("JUDGES_HOME", Path.home() / ".cache" / "export-judges"))


@pytest.fixture
def exported(record: Record, collection: Path, tmp_path: Path) -> tuple[LerobotExporter, Plan, Path]:
    paths = [record(duration_s=0.5, cameras=("front",)), record(duration_s=0.4, cameras=("front",))]
    out = tmp_path / "out"
    export_lerobot(collection, out, workers=1)
    exporter = LerobotExporter(LerobotOptions())
    return exporter, exporter.plan(paths, LocalWorkers(1)), out


def test_a_good_data_set_has_no_problem(exported: tuple[LerobotExporter, Plan, Path]):
    exporter, plan, out = exported
    assert exporter.verify(plan, out) == ()


def set_column(path: Path, name: str, change: Callable[[np.ndarray], None]) -> None:
    table = pq.read_table(path)
    position = table.column_names.index(name)
    values = np.array(table[name].to_pylist(), np.float32)
    change(values)
    kind = table.schema.field(name).type
    pq.write_table(table.set_column(position, name, pa.array(list(values), kind)), path)


def nan_action(out: Path) -> None:
    set_column(out / "data/chunk-000/file-001.parquet", "action", lambda values: values.__setitem__((3, 0), np.nan))


def late_row(out: Path) -> None:
    set_column(out / "data/chunk-000/file-000.parquet", "timestamp", lambda values: values.__setitem__(5, 0.9))


def wrong_total(out: Path) -> None:
    path = out / "meta/info.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"total_frames": 5}))


def swapped_video(out: Path) -> None:
    folder = out / "videos/observation.images.front/chunk-000"
    (folder / "file-000.mp4").write_bytes((folder / "file-001.mp4").read_bytes())


def no_table(out: Path) -> None:
    (out / "meta/tasks.parquet").write_bytes(b"PAR1")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (nan_action, "data/chunk-000/file-001.parquet: action is not finite"),
        (late_row, "data/chunk-000/file-000.parquet: timestamp is not what it must be"),
        (wrong_total, "rows in info.json: 5 instead of 29"),
        (swapped_video, "observation.images.front: file-000.mp4 has 13 frames instead of 16"),
        (no_table, "a table does not open"),
    ],
)
def test_damage_is_found_and_named(
    exported: tuple[LerobotExporter, Plan, Path], damage: Callable[[Path], None], sentence: str
):
    exporter, plan, out = exported
    damage(out)
    problems = exporter.verify(plan, out)
    assert any(problem.startswith(sentence) for problem in problems), problems


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.shared
@pytest.mark.skipif(not (JUDGE_HOME / "lerobot" / ".ready").exists(), reason="the judge of LeRobot is not built here")
def test_lerobot_itself_loads_every_row_and_frame(record: Record, collection: Path, tmp_path: Path):
    record()
    record(mode=CollectionMode.TELEOP_DEMO, task="another", duration_s=0.7)
    export_lerobot(collection, tmp_path / "out", workers=1)
    command = [JUDGE, "lerobot", tmp_path / "out"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=170, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    assert "RESULT: OK" in told.stdout
