"""One stream's way into the open episode: a sample belongs to an episode by its own stamp, not by when it arrived.

The last seconds of every stream wait in a bounded buffer. An episode begins at the moment that it was asked for: its
files are made after that, and what arrived meanwhile is taken from the buffer, so none is lost to the preparation. It
ends the same way: every stream is suspended (its samples wait), then the end is set, then what belongs is taken.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

from recorder.episode import StreamSummary
from recorder.errors import RecorderError
from recorder.streams import ImageStreamSpec, NumericStreamSpec
from recorder.writer import StreamWriter, open_stream

log = logging.getLogger(__name__)

BUFFER_S = 2.0
"""How much of a stream is kept while no episode is open [s]."""


class _State(Enum):
    IDLE = 0
    PREPARED = 1
    OPEN = 2
    SUSPENDED = 3
    ENDING = 4


class StreamRecorder:
    """Routes one stream's samples. `offer` is called by the device's thread, the rest by the session's."""

    def __init__(self, name: str, rate_hz: float, dropped: Callable[[], int] = lambda: 0) -> None:
        """Prepare nothing yet; `dropped` is the driver's running count of lost samples."""
        self.name = name
        self._grace_s = 2.0 / rate_hz + 0.02
        self._dropped = dropped
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._buffer: deque[tuple[int, int, Any]] = deque(maxlen=max(16, round(BUFFER_S * rate_hz)))
        self._state = _State.IDLE
        self._writer: StreamWriter | None = None
        self._start_ns = self._stop_ns = 0
        self._dropped_before = 0
        self._refused = 0
        self.fault = ""
        """Why samples of the open episode could not be written, one sentence; empty if all were."""

    def prepare(self, episode_dir: Path, spec: NumericStreamSpec | ImageStreamSpec) -> None:
        """Make the stream's files."""
        writer = open_stream(episode_dir, spec)  # outside the lock: the device's thread never waits for files
        with self._lock:
            self._writer = writer
            self._ended.clear()
            self._dropped_before = self._dropped()
            self._refused, self.fault = 0, ""
            self._state = _State.PREPARED

    def begin(self, start_ns: int) -> None:
        """Record every sample true at or after `start_ns`, including those that already arrived."""
        if self._state is not _State.PREPARED:
            return
        self._start_ns = start_ns
        while True:  # one at a time, so that the device's thread never waits for all of them
            with self._lock:
                if not self._buffer:
                    self._state = _State.OPEN
                    return
                time_ns, received_ns, values = self._buffer.popleft()
            self._append(time_ns, received_ns, values)

    def offer(self, time_ns: int, received_ns: int, values: Any) -> None:
        """Record the sample if it belongs to the open episode; otherwise keep it for the next one."""
        with self._lock:
            if self._state in (_State.IDLE, _State.PREPARED, _State.SUSPENDED):
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
        """Wait until a sample after the end has come, or two periods, then close the stream."""
        if self._state is _State.ENDING:
            self._ended.wait(self._grace_s)
        with self._lock:
            writer, self._writer, self._state = self._writer, None, _State.IDLE
        if writer is None:
            return StreamSummary(samples=0)
        writer.add_drops(self._dropped() - self._dropped_before + self._refused)
        return writer.close()

    @property
    def recording(self) -> bool:
        """Whether an episode is open for this stream."""
        return self._state in (_State.OPEN, _State.SUSPENDED, _State.ENDING)

    @property
    def samples(self) -> int:
        """Samples of the open episode so far."""
        writer = self._writer
        return writer.summary.samples if writer is not None else 0

    def _take_waiting(self) -> None:
        waiting = list(self._buffer)
        self._buffer.clear()
        for time_ns, received_ns, values in waiting:
            self._append(time_ns, received_ns, values)

    def _append(self, time_ns: int, received_ns: int, values: Any) -> None:
        if time_ns < self._start_ns:
            return
        if self._state is _State.ENDING and time_ns >= self._stop_ns:
            self._buffer.append((time_ns, received_ns, values))
            self._ended.set()
            return
        if self._writer is None:
            return
        try:
            self._writer.append(time_ns, received_ns, values)
        except (RecorderError, OSError) as error:
            self._refused += 1
            if not self.fault:
                self.fault = f"{self.name}: samples are not being recorded: {error}"
                log.exception("%s: a sample could not be recorded", self.name)
