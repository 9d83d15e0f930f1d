"""Processes that do the work of an export, started once and used for all its steps."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from types import TracebackType
from typing import Self, TypeVar

from recorder.errors import ExportError

T = TypeVar("T")
R = TypeVar("R")


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, which waits for what is being written, and never outlive the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="parent-watch", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class LocalWorkers:
    """Spawned processes on this machine; with one, the work is done in this process."""

    def __init__(self, count: int = 0) -> None:
        if count < 0:
            raise ExportError(f"the number of workers must be 0 (one a core) or more, not {count}")
        self.count = count or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what is running and start nothing more."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Yield (item, function(item)) as each is done, in any order.

        Args:
            function: Something that can be sent to another process.
            items: Its arguments, which can be sent too.

        Raises:
            ExportError: A process ended without an answer, for example for want of memory.
        """
        if self.count == 1 or len(items) < 2:
            yield from ((item, function(item)) for item in items)
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, mp_context=get_context("spawn"), initializer=_begin_worker)
        try:
            futures: dict[Future[R], T] = {self._pool.submit(function, item): item for item in items}
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool as error:
            raise ExportError("a worker process ended without an answer; it may have run out of memory") from error
