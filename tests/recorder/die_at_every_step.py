"""Ends an episode, discards it, or recovers it, and dies at the first, second, third ... change it makes on disk.

Run as `python die_at_every_step.py WHAT FOLDER`. After each death the episode must still be there, and must become what
it would have become. Prints how many deaths it went through. Forks, which only a process without threads may.
"""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from recorder import committer, layout
from recorder.episode import Event
from recorder.episode_writer import EpisodeWriter, discard, restore
from recorder.findings import Severity
from recorder.recover import recover
from recorder.validate import verify
from recorder.writer import open_stream
from tests.recorder.samples import SPECS, check_rows, new_episode, stamp_ns, values

CHANGES = (
    *("open", "write", "writev", "pwrite", "fdatasync", "fsync"),
    *("mkdir", "rename", "replace", "unlink", "truncate", "ftruncate"),
)
ROWS = {"arm": 10, "pad": 258, "camera": 257}
DIED = 42


class NoThread(committer.Committer):
    """Commits nothing by itself."""

    def add(self, member: committer.Committable) -> None:
        """Leave commits to the test."""


def die_after(steps: int) -> None:
    """Let this process die, without a word, in place of its change number `steps`."""
    left = iter(range(steps))

    def guarded(change: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            if next(left, None) is None:
                os._exit(DIED)
            return change(*args, **options)

        return call

    for name in CHANGES:
        setattr(os, name, guarded(getattr(os, name)))


def append_all(writer: EpisodeWriter) -> dict[str, object]:
    streams = {}
    for spec in SPECS:
        stream = streams[spec.name] = open_stream(writer.path, spec)
        for row in range(ROWS[spec.name]):
            time_ns = stamp_ns(row, spec.rate_hz)
            stream.append(time_ns, time_ns + 5, values(spec.name, row))
    writer.event(Event(time_ns=stamp_ns(0), kind="note"))
    return streams


def record_and_finish(collection: Path, steps: int) -> None:
    writer = EpisodeWriter.create(collection, new_episode())
    streams = append_all(writer)
    die_after(steps)
    summaries = {name: stream.close() for name, stream in streams.items()}
    writer.finish(stamp_ns(258, 4), summaries)


def record_and_discard(collection: Path, steps: int) -> None:
    writer = EpisodeWriter.create(collection, new_episode())
    streams = append_all(writer)
    die_after(steps)
    for stream in streams.values():
        stream.close()
    writer.discard()


def recover_again(collection: Path, steps: int) -> None:
    die_after(steps)
    recover(next(collection.glob("*.zarr")))


def restore_again(collection: Path, steps: int) -> None:
    die_after(steps)
    restore(next(layout.trash_path(collection).glob("*.zarr")))


ACTIONS = {
    "finish": record_and_finish,
    "discard": record_and_discard,
    "recover": recover_again,
    "restore": restore_again,
}


def dies(action: Callable[[Path, int], None], collection: Path, steps: int) -> bool:
    """Do it in a child that dies at that step; False if it came to its end before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action(collection, steps)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, DIED):
        raise SystemExit(f"{action.__name__}, step {steps}: exit code {code}")
    return code == DIED


def check(collection: Path, steps: int) -> None:
    """Whatever happened, the episode becomes whole and has everything."""
    names = [*collection.glob("*.journal"), *collection.glob("*.zarr"), *layout.trash_path(collection).glob("*.zarr")]
    path = names[0].with_suffix(".zarr")
    found = recover(path).path
    if found.parent.name == layout.TRASH:
        recover(found)
        found = restore(found)
    check_rows(found, ROWS)
    errors = [finding.sentence for finding in verify(found) if finding.severity is Severity.ERROR]
    left = [entry.name for entry in collection.iterdir() if entry.name not in (found.name, layout.TRASH)]
    if errors or left:
        raise SystemExit(f"step {steps}: {errors}, left over: {left}")


def main(what: str, folder: Path) -> None:
    committer.shared = NoThread()
    template = folder / "template"
    if what in ("recover", "restore"):
        dies(record_and_finish, template, 0)
    if what == "restore":
        discard(next(template.glob("*.zarr")))
    for steps in range(1000):
        collection = folder / f"step{steps}"
        if template.is_dir():
            shutil.copytree(template, collection)
        died = dies(ACTIONS[what], collection, steps)
        check(collection, steps)
        shutil.rmtree(collection)
        if not died:
            sys.stdout.write(f"{steps}\n")
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
