"""The one background thread of a process that carries appended rows to the disk, about once a second.

Appending only touches the page cache, which outlives the process. What a power loss may take is bounded by this thread.
"""

import logging
import threading
from typing import Protocol

from recorder.errors import StreamStorageError

PERIOD_S = 1.0
_log = logging.getLogger(__name__)


class Committable(Protocol):
    """Something that can be made durable at any time from another thread."""

    def commit(self) -> None:
        """Carry everything handed over so far to the disk."""


class Committer:
    """Calls `commit` of all its members in turn; its thread lives while there are members."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._members: list[Committable] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, member: Committable) -> None:
        """Commit `member` from now on."""
        with self._lock:
            self._members.append(member)
            if self._thread is None:
                self._wake = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._wake,), name="recorder-commit", daemon=True
                )
                self._thread.start()

    def remove(self, member: Committable) -> None:
        """Commit `member` no more; the last one to leave ends the thread. Unknown members are ignored."""
        with self._lock:
            self._members = [other for other in self._members if other is not member]
            ended = None if self._members else self._thread
            if ended is not None:
                self._thread = None
                self._wake.set()
        if ended is not None and ended is not threading.current_thread():
            ended.join()

    def _run(self, wake: threading.Event) -> None:
        while not wake.wait(self._period_s):
            with self._lock:
                members = tuple(self._members)
            for member in members:
                try:
                    member.commit()
                except StreamStorageError as error:
                    _log.error("%s", error)


shared = Committer()
"""The process's own."""
