import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from recorder.errors import ExportError
from recorder.exporters.contract import Plan, Shard, ShardResult, Workers
from recorder.exporters.lerobot import export_lerobot
from recorder.exporters.run import run_export
from recorder.exporters.workers import LocalWorkers


@dataclass(frozen=True)
class TextExporter:
    """Writes one line a shard; fails or is interrupted at a shard if told to."""

    shards: int = 3
    fail_at: int = -1
    error: type[BaseException] = ExportError
    wrong: bool = False
    marker: str = "all.txt"

    def plan(self, episodes: Sequence[Path], workers: Workers) -> Plan:
        shards = [
            Shard(index=i, path="p", episode_id="e", start=0, stop=2, first_index=2 * i, task="t", task_index=0)
            for i in range(self.shards)
        ]
        return Plan(format="text", options={}, features={}, tasks=("t",), shards=tuple(shards), sources=())

    def write_shard(self, plan: Plan, shard: Shard, folder: Path) -> ShardResult:
        assert plan.shards == (shard,)
        if shard.index == self.fail_at:
            raise self.error(f"shard {shard.index} fails")
        with (folder / f"{shard.index}.txt").open("a") as file:
            file.write("written\n")
        return ShardResult(index=shard.index, rows=2, frames=0, seconds=0.5, facts={})

    def merge(self, plan: Plan, results: Sequence[ShardResult], folder: Path) -> None:
        (folder / self.marker).write_text("\n".join(str(result.index) for result in results))

    def verify(self, plan: Plan, folder: Path) -> tuple[str, ...]:
        return ("it is wrong",) if self.wrong else ()


def test_an_export_appears_whole_and_reports_what_it_did(tmp_path: Path):
    seen: list[tuple[int, int]] = []
    report = run_export(TextExporter(), [], tmp_path / "out", workers=1, progress=lambda *counts: seen.append(counts))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.txt", "1.txt", "2.txt", "all.txt"]
    assert (report.rows, report.episodes, report.rows_per_worker_second) == (6, 3, 4.0)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("exporter", [TextExporter(fail_at=1), TextExporter(wrong=True)])
def test_a_failure_leaves_nothing(tmp_path: Path, exporter: TextExporter):
    with pytest.raises(ExportError, match=r"shard 1 fails|it is wrong"):
        run_export(exporter, [], tmp_path / "out", workers=1)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_export_goes_on_where_it_was(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        run_export(TextExporter(fail_at=2, error=KeyboardInterrupt), [], tmp_path / "out", workers=1)
    assert [path.name for path in tmp_path.iterdir()] == [".out.partial"]
    report = run_export(TextExporter(), [], tmp_path / "out", workers=1)
    assert report.resumed_shards == 2
    assert (tmp_path / "out" / "0.txt").read_text() == "written\n"


def test_an_interrupted_export_of_something_else_is_begun_anew(tmp_path: Path):
    with pytest.raises(KeyboardInterrupt):
        run_export(TextExporter(fail_at=2, error=KeyboardInterrupt), [], tmp_path / "out", workers=1)
    report = run_export(TextExporter(shards=1), [], tmp_path / "out", workers=1)
    assert report.resumed_shards == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["0.txt", "all.txt"]


def test_two_exports_into_one_place_do_not_mix(tmp_path: Path):
    class Nested(TextExporter):
        def merge(self, plan: Plan, results: Sequence[ShardResult], folder: Path) -> None:
            run_export(TextExporter(), [], tmp_path / "out", workers=1)

    with pytest.raises(ExportError, match=r"another export into .* is running"):
        run_export(Nested(), [], tmp_path / "out", workers=1)


@pytest.mark.slow
def test_a_worker_that_dies_is_said(tmp_path: Path):
    with pytest.raises(ExportError, match="a worker process ended without an answer"), LocalWorkers(2) as crew:
        list(crew.map(os._exit, [3, 3]))
    assert multiprocessing.active_children() == []


@pytest.mark.slow
def test_a_killed_export_leaves_no_process_and_is_resumed(
    tmp_path: Path, collection: Path, record: Callable[..., Path]
):
    for _ in range(4):
        record(duration_s=2.0, size=(240, 320), cameras=("front",))
    out = tmp_path / "out"
    code = (
        "from pathlib import Path\n"
        "from recorder.exporters.lerobot import export_lerobot\n"
        "if __name__ == '__main__':\n"
        f"    collection, out = Path({str(collection)!r}), Path({str(out)!r})\n"
        "    export_lerobot(collection, out, workers=2, progress=lambda *c: print(*c, flush=True))\n"
    )
    script = tmp_path / "run_it.py"
    script.write_text(code)
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, script], cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1 4\n"
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.02)
    assert not out.exists()
    report = export_lerobot(collection, out, workers=1)
    assert report.resumed_shards >= 1
    assert report.episodes == 4
