"""One stream's way into the open episode: a sample belongs to an episode by its own stamp, not by when it arrived.

The last seconds of every stream wait in a bounded buffer. An episode begins at the moment that it was asked for: its
files are made after that, and what arrived meanwhile is taken from the buffer, so none is lost to the preparation. It
ends the same way: every stream is suspended (its samples wait), then the end is set, then what belongs is taken. A
pause is an end that a later beginning undoes: what is true between the two is not recorded.
"""

import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from recorder.episode import StreamSummary
from recorder.streams import ImageStreamSpec, NumericStreamSpec
from recorder.write_queue import LostRun, QueuedStream, row_bytes
from recorder.writer import open_stream

BUFFER_S = 5.0
"""How much of a stream is kept while no episode is open, if nobody wants more [s]."""

GRACE_S = 0.05
"""How long after an episode's end a sample that belongs to it may still arrive, beyond its known latency [s]."""


class _State(Enum):
    IDLE = 0
    PREPARED = 1
    OPEN = 2
    SUSPENDED = 3
    ENDING = 4


_WAITING = (_State.IDLE, _State.PREPARED, _State.SUSPENDED)


class StreamRecorder:
    """Routes one stream's samples. `offer` is called by the device's thread, the rest by the session's."""

    def __init__(
        self, name: str, rate_hz: float, dropped: Callable[[], int] = lambda: 0, latency_s: float = 0.0
    ) -> None:
        """Prepare nothing yet; `dropped` is the driver's running count of lost samples, `latency_s` its known delay."""
        self.name = name
        self._rate_hz = rate_hz
        self._grace_s = GRACE_S + latency_s
        self._dropped = dropped
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._buffer: deque[tuple[int, int, Any]] = deque()
        self.keep(BUFFER_S)
        self._state = _State.IDLE
        self._queue: QueuedStream | None = None
        self._start_ns = self._stop_ns = 0
        self._dropped_before = 0
        self._too_late = 0
        self._late = ""
        self.lost: tuple[LostRun, ...] = ()
        """Samples of the last finished episode that could not be recorded."""

    def keep(self, buffer_s: float) -> None:
        """Keep the last `buffer_s` of the stream while no episode is open [s]."""
        with self._lock:
            self._buffer = deque(self._buffer, maxlen=max(16, round(buffer_s * self._rate_hz)))

    def prepare(self, episode_dir: Path, spec: NumericStreamSpec | ImageStreamSpec) -> None:
        """Make the stream's files."""
        queue = QueuedStream(open_stream(episode_dir, spec), row_bytes(spec))
        with self._lock:
            self._queue = queue
            self._ended.clear()
            self._dropped_before = self._dropped()
            self._late, self._too_late = "", 0
            self._state = _State.PREPARED

    def begin(self, start_ns: int) -> None:
        """Record every sample true at or after `start_ns`, including those that already arrived; also ends a pause."""
        with self._lock:
            if self._state not in (_State.PREPARED, _State.ENDING):
                return
            if len(self._buffer) == self._buffer.maxlen and self._buffer[0][0] > start_ns:
                late_s = (self._buffer[0][0] - start_ns) / 1e9
                self._late = f"the first {late_s:.2f} s were no longer in the buffer when recording began"
            self._start_ns, self._state = start_ns, _State.OPEN
            self._ended.clear()
            self._take_waiting()

    def offer(self, time_ns: int, received_ns: int, values: Any) -> None:
        """Record the sample if it belongs to the open episode; otherwise keep it for the next one."""
        with self._lock:
            if self._state is _State.IDLE and self._start_ns <= time_ns < self._stop_ns:
                self._too_late += 1
            elif self._state in _WAITING:
                self._buffer.append((time_ns, received_ns, values))
            else:
                self._append(time_ns, received_ns, values)

    def suspend(self) -> None:
        """Let samples wait from now on, because the episode's end is about to be set."""
        with self._lock:
            if self._state is _State.OPEN:
                self._state = _State.SUSPENDED

    def end(self, stop_ns: int) -> None:
        """Set the episode's end, after `suspend`: samples before `stop_ns` still belong to it."""
        with self._lock:
            if self._state is _State.SUSPENDED:
                self._stop_ns, self._state = stop_ns, _State.ENDING
                self._take_waiting()

    def finish(self) -> StreamSummary:
        """Wait until a sample after the end has come, or the grace time is over, then close the stream."""
        if self._state is _State.ENDING:
            self._ended.wait(self._grace_s)
        with self._lock:
            queue, self._queue, self._state = self._queue, None, _State.IDLE
        if queue is None:
            return StreamSummary(samples=0)
        queue.add_drops(self._dropped() - self._dropped_before)
        summary = queue.close()
        self.lost = queue.lost
        return summary

    @property
    def fault(self) -> str:
        """What is wrong with the recording of this stream, one sentence; empty if nothing is."""
        queue = self._queue
        fault = self._late or (queue.fault if queue is not None else "")
        if not fault and self._too_late:
            fault = f"{self._too_late} samples came after their episode was closed; set latency_s"
        return f"{self.name}: {fault}" if fault else ""

    @property
    def samples(self) -> int:
        """Samples of the open episode so far."""
        queue = self._queue
        return queue.samples if queue is not None else 0

    def _take_waiting(self) -> None:
        waiting = list(self._buffer)
        self._buffer.clear()
        for time_ns, received_ns, values in waiting:
            self._append(time_ns, received_ns, values)

    def _append(self, time_ns: int, received_ns: int, values: Any) -> None:
        if time_ns < self._start_ns or self._queue is None:
            return
        if self._state is _State.ENDING and time_ns >= self._stop_ns:
            self._buffer.append((time_ns, received_ns, values))
            self._ended.set()
            return
        self._queue.append(time_ns, received_ns, values)
