"""Running an exporter: a hidden sibling folder, worker processes, one rename at the end.

The output appears whole or not at all. An interrupted run (Ctrl-C, a kill, a power cut) leaves its hidden folder, and
the next run with the same plan goes on from there; a run that fails leaves nothing.
"""

import contextlib
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from recorder.errors import ExportError
from recorder.exporters.contract import Exporter, ExportReport, Plan, Progress, Shard, ShardResult, Workers
from recorder.exporters.workers import LocalWorkers

_log = logging.getLogger(__name__)
_PLAN = "plan.json"
_WORK = ".work"


def run_export(
    exporter: Exporter,
    episodes: Sequence[Path],
    out: Path,
    *,
    workers: int = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ExportReport:
    """Export episodes into `out`.

    Args:
        exporter: The format, with its options.
        episodes: Folders of the episodes, in the order wanted.
        out: Folder to make.
        workers: Processes; 0 for one a core, 1 for none beside this one.
        overwrite: Replace `out` if it is an earlier output of the same exporter.
        progress: Called after each shard.

    Returns:
        What went in, what did not, and how fast it was.

    Raises:
        ExportError: It cannot be made as asked. `out` is as it was.
    """
    began = time.perf_counter()
    out = out.absolute()
    _check_out(exporter, out, overwrite=overwrite)
    with _partial_folder(out) as folder, LocalWorkers(workers) as crew:
        plan = exporter.plan(episodes, crew)
        results, resumed = _write(exporter, plan, folder, crew, progress)
        exporter.merge(plan, results, folder)
        shutil.rmtree(folder / _WORK)
        problems = exporter.verify(plan, folder)
        if problems:
            raise ExportError(f"what was written to {out} does not read back: {'; '.join(problems[:5])}")
        _replace(folder, out)
    fresh = [result for result in results if result.index not in resumed]
    return _report(plan, out, results, fresh, (crew.count, time.perf_counter() - began))


def _check_out(exporter: Exporter, out: Path, *, overwrite: bool) -> None:
    if not out.exists():
        return
    if out.is_dir() and not any(out.iterdir()):
        return
    if not (out / exporter.marker).is_file():
        raise ExportError(f"{out} exists and is not an export of this application: choose another place")
    if not overwrite:
        raise ExportError(f"{out} exists already: say overwrite to replace it")


@contextlib.contextmanager
def _partial_folder(out: Path) -> Iterator[Path]:
    """Give the hidden sibling of `out`, locked; it is removed on a failure and kept on an interruption."""
    folder = out.parent / f".{out.name}.partial"
    try:
        (folder / _WORK).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"cannot write beside {out}: {error.strerror}") from error
    handle = os.open(folder, os.O_RDONLY)
    keep = True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        keep = False
        yield folder
    except BlockingIOError as error:
        raise ExportError(f"another export into {out} is running") from error
    except KeyboardInterrupt:
        keep = True
        raise
    except OSError as error:
        raise ExportError(f"cannot export to {out}: {error.strerror or error}") from error
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _write(
    exporter: Exporter, plan: Plan, folder: Path, crew: Workers, progress: Progress | None
) -> tuple[list[ShardResult], set[int]]:
    """Write the shards that an earlier run of the same plan has not; give all results and which were there."""
    done = _earlier_results(plan, folder)
    resumed = set(done)
    if resumed:
        _log.info("going on with an interrupted export: %d of %d shards are there", len(resumed), len(plan.shards))
    jobs = [_Job(exporter, plan.for_worker(shard), shard, folder) for shard in plan.shards if shard.index not in done]
    for job, result in crew.map(_Job.run, jobs):
        done[job.shard.index] = result
        if progress is not None:
            progress(len(done), len(plan.shards))
    return [done[shard.index] for shard in plan.shards], resumed


@dataclass(frozen=True, slots=True)
class _Job:
    """One shard for one process."""

    exporter: Exporter
    plan: Plan
    shard: Shard
    folder: Path

    def run(self) -> ShardResult:
        """Write the shard, then its result: a result on disk means a whole shard."""
        result = self.exporter.write_shard(self.plan, self.shard, self.folder)
        target = _result_path(self.folder, self.shard.index)
        written = target.with_suffix(".tmp")
        written.write_text(result.model_dump_json())
        written.replace(target)
        return result


def _earlier_results(plan: Plan, folder: Path) -> dict[int, ShardResult]:
    """Read the results of an interrupted run of this very plan; empty the folder if it was another."""
    text = plan.model_dump_json()
    found = folder / _WORK / _PLAN
    if not found.is_file() or found.read_text() != text:
        _empty(folder)
        found.parent.mkdir()
        found.write_text(text)
        return {}
    results: dict[int, ShardResult] = {}
    for shard in plan.shards:
        with contextlib.suppress(FileNotFoundError, ValidationError):
            results[shard.index] = ShardResult.model_validate_json(_result_path(folder, shard.index).read_bytes())
    return results


def _result_path(folder: Path, index: int) -> Path:
    return folder / _WORK / f"shard-{index:06d}.json"


def _empty(folder: Path) -> None:
    for child in folder.iterdir():
        if child.is_dir():
            shutil.rmtree(child)
        else:
            child.unlink()


def _replace(folder: Path, out: Path) -> None:
    """Put the finished folder in place of `out`; an earlier output is out of the way for two renames only."""
    old = out.parent / f".{out.name}.old"
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        out.rename(old)
    folder.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def _report(
    plan: Plan, out: Path, results: Iterable[ShardResult], fresh: Sequence[ShardResult], run: tuple[int, float]
) -> ExportReport:
    workers, seconds = run
    results = list(results)
    spent = sum(result.seconds for result in fresh)
    return ExportReport(
        out=str(out),
        format=plan.format,
        episodes=len(plan.shards),
        rows=plan.rows,
        frames=sum(result.frames for result in results),
        bytes=sum(path.stat().st_size for path in out.rglob("*") if path.is_file()),
        left_out=plan.left_out,
        notes=plan.notes,
        resumed_shards=len(results) - len(fresh),
        workers=workers,
        seconds=seconds,
        worker_seconds=spent,
        rows_per_worker_second=sum(result.rows for result in fresh) / spent if spent else 0.0,
        frames_per_worker_second=sum(result.frames for result in fresh) / spent if spent else 0.0,
    )
