"""A bounded queue between whoever delivers samples and the disk, so that a slow disk never stops a control loop.

One thread of the process carries queued samples to their writers, every few milliseconds. What a queue cannot hold is
lost, and every loss is counted and located: the stamps of the first and the last sample of each run of losses. A
sample is durable against the death of the process once the thread has handed it to its writer.
"""

import logging
import math
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recorder.episode import StreamSummary
from recorder.errors import RecorderError
from recorder.stream_writer import StreamWriter
from recorder.streams import ImageStreamSpec, NumericStreamSpec

log = logging.getLogger(__name__)

PERIOD_S = 0.01
"""How long a sample waits at most when the disk keeps up [s]."""
LIMIT_BYTES = 64_000_000
"""How much one stream may wait for a slow disk: half a minute of a 640x480 camera, an hour of an arm."""
LONG_AFTER = 0.5
"""Above this share of the limit the stream is said to be in trouble."""


@dataclass(frozen=True, slots=True)
class LostRun:
    """Samples lost one after another."""

    first_ns: int
    """Stamp of the first one lost [ns]."""
    last_ns: int
    """Stamp of the last one lost [ns]."""
    count: int
    reason: str


class QueuedStream:
    """One stream's queue. `append` is called by one thread, the rest by any."""

    def __init__(self, writer: StreamWriter, row_bytes: int, limit_bytes: int = LIMIT_BYTES) -> None:
        """Queue for `writer`, counting `row_bytes` for a sample whose size does not show, and attach to the thread."""
        self._writer, self._row_bytes, self._limit_bytes = writer, row_bytes, limit_bytes
        self._waiting: deque[tuple[int, int, Any, int]] = deque()
        self._writing = threading.Lock()
        self._pending_bytes = 0
        self._lost: list[LostRun] = []
        self._open_runs: dict[str, int] = {}
        self._closed: StreamSummary | None = None
        shared.add(self)

    def append(self, time_ns: int, received_ns: int, values: Mapping[str, Any] | bytes) -> None:
        """Queue one sample, or count it as lost if the queue is full. Never waits for the disk."""
        size = len(values) if isinstance(values, bytes) else self._row_bytes
        if self._pending_bytes + size > self._limit_bytes:
            self._lose("queue", time_ns, "the disk is too slow")
            return
        self._open_runs.pop("queue", None)
        self._waiting.append((time_ns, received_ns, values, size))
        self._pending_bytes += size

    def drain(self) -> None:
        """Hand everything that waits to the writer."""
        with self._writing:
            for _ in range(len(self._waiting)):
                time_ns, received_ns, values, size = self._waiting.popleft()
                self._pending_bytes -= size
                try:
                    self._writer.append(time_ns, received_ns, values)
                except (RecorderError, OSError) as error:
                    self._lose("disk", time_ns, str(error))
                else:
                    self._open_runs.pop("disk", None)

    def close(self) -> StreamSummary:
        """Hand over what still waits, close the writer, and give the stream's summary with its losses counted."""
        if self._closed is None:
            shared.remove(self)
            self.drain()
            self._writer.add_drops(sum(run.count for run in self._lost))
            self._closed = self._writer.close()
        return self._closed

    def add_drops(self, count: int) -> None:
        """Count samples that were lost before they came here."""
        self._writer.add_drops(count)

    @property
    def samples(self) -> int:
        """Samples handed to the writer."""
        return self._writer.summary.samples

    @property
    def lost(self) -> tuple[LostRun, ...]:
        """Every run of losses so far."""
        return tuple(self._lost)

    @property
    def fault(self) -> str:
        """What is wrong, one sentence; empty if nothing is."""
        if self._lost:
            count = sum(run.count for run in self._lost)
            return f"{count} samples could not be recorded: {self._lost[-1].reason}"
        if self._pending_bytes > LONG_AFTER * self._limit_bytes:
            return f"the disk is slow: {self._pending_bytes / 1e6:.0f} MB wait to be written"
        return ""

    def _lose(self, where: str, time_ns: int, reason: str) -> None:
        """Count a loss at the `queue` or at the `disk`; losses with no success there in between are one run."""
        index = self._open_runs.get(where)
        if index is not None and self._lost[index].reason == reason:
            run = self._lost[index]
            self._lost[index] = LostRun(run.first_ns, time_ns, run.count + 1, reason)
            return
        log.error("a sample could not be recorded: %s", reason)
        self._open_runs[where] = len(self._lost)
        self._lost.append(LostRun(time_ns, time_ns, 1, reason))


def row_bytes(spec: NumericStreamSpec | ImageStreamSpec) -> int:
    """Size of a row of numbers with its two stamps, or of a frame as pixels [bytes]."""
    if isinstance(spec, ImageStreamSpec):
        return 3 * spec.height * spec.width
    return 16 + sum(np.dtype(field.dtype).itemsize * math.prod(field.shape) for field in spec.fields)


class Pump:
    """The thread that drains its members; it lives while there are members."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        """Drain every `period_s` [s]."""
        self._period_s = period_s
        self._members: tuple[QueuedStream, ...] = ()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def add(self, member: QueuedStream) -> None:
        """Drain `member` from now on."""
        with self._lock:
            if not self._members:
                self._stop = threading.Event()
                threading.Thread(target=self._run, args=(self._stop,), name="recorder-write", daemon=True).start()
            self._members = (*self._members, member)

    def remove(self, member: QueuedStream) -> None:
        """Drain `member` no more; the last one to leave ends the thread."""
        with self._lock:
            self._members = tuple(other for other in self._members if other is not member)
            if not self._members:
                self._stop.set()

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(self._period_s):
            for member in self._members:
                member.drain()


shared = Pump()
"""The process's own."""
