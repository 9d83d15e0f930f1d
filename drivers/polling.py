"""The one background loop: read a device as fast as it delivers, record each sample, then publish the newest.

A `PollingReader` owns the thread that calls a driver's `read`. Recording outranks display: every sink has seen a
sample before `latest` shows it. Nothing ends the loop but `stop`: a failing read is counted, kept in `error` and
tried again after a bounded back-off; a failing sink is counted and logged and never stops the reading.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from drivers import clock
from drivers.errors import DriverError

log = logging.getLogger(__name__)

READ_SLICE_S = 0.1
"""How long one `read` may wait, and so about how long `stop` takes [s]."""
FIRST_BACKOFF_S = 0.02
LONGEST_BACKOFF_S = 1.0
RATE_WINDOW_NS = 1_000_000_000
STOP_TIMEOUT_S = 5.0


class Stamped(Protocol):
    """Anything that says when it was true."""

    @property
    def stamp_ns(self) -> int:
        """When it was true, monotonic clock [ns]."""
        ...


S = TypeVar("S", bound=Stamped)


class PollingReader(Generic[S]):
    """Reads one device in a thread of its own.

    `latest`, `age_s`, `error`, the counts and `rate_hz` may be read from any thread.
    """

    def __init__(self, name: str, read: Callable[[float], S | None], sinks: Sequence[Callable[[S], None]] = ()) -> None:
        """Prepare; no thread is started.

        Args:
            name: The device's name, given to the thread.
            read: A driver's `read`: takes the longest wait [s], returns the next sample or None.
            sinks: Called in order, in the reader's thread, with every sample before it is published.
        """
        self.name = name
        self._read = read
        self._sinks = tuple(sinks)
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._latest: S | None = None
        self._arrivals_ns: deque[int] = deque()
        self._last_arrival_ns = 0
        self._error: Exception | None = None
        self._count = self._errors = self._sink_errors = 0

    @property
    def latest(self) -> S | None:
        """The newest sample, None before the first."""
        return self._latest

    @property
    def error(self) -> Exception | None:
        """Why the most recent read failed; None again as soon as a sample arrives."""
        return self._error

    @property
    def count(self) -> int:
        """Samples published since construction."""
        return self._count

    @property
    def error_count(self) -> int:
        """Reads that raised since construction."""
        return self._errors

    @property
    def sink_error_count(self) -> int:
        """Exceptions of sinks since construction; each is one sample that one sink did not take."""
        return self._sink_errors

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def rate_hz(self) -> float:
        """Samples that arrived within the last second [Hz]."""
        horizon_ns = clock.now_ns() - RATE_WINDOW_NS
        with self._lock:
            return float(sum(arrival_ns > horizon_ns for arrival_ns in self._arrivals_ns))

    def age_s(self) -> float:
        """Return how old the newest sample is [s], infinity before the first.

        The age counts from the sample's own stamp, and never less than from its arrival: a frozen device that repeats
        an old stamp is old, and so is a silent device whose stamps lie in the future.
        """
        with self._lock:
            if self._latest is None:
                return float("inf")
            return (clock.now_ns() - min(self._latest.stamp_ns, self._last_arrival_ns)) / 1e9

    def start(self) -> None:
        """Start reading; does nothing while it runs."""
        if self.running:
            return
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop reading and wait for the thread; does nothing when it does not run."""
        self._stop.set()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        thread.join(STOP_TIMEOUT_S)
        if thread.is_alive():
            log.error("%s: the read did not return within %.0f s of stop", self.name, STOP_TIMEOUT_S)

    def _run(self) -> None:
        backoff_s = FIRST_BACKOFF_S
        while not self._stop.is_set():
            try:
                sample = self._read(READ_SLICE_S)
            except DriverError as error:
                self._note_failure(error)
            except Exception as error:
                log.exception("%s: unexpected failure of read", self.name)
                self._note_failure(error)
            else:
                backoff_s = FIRST_BACKOFF_S
                if sample is not None:
                    self._deliver(sample)
                continue
            self._stop.wait(backoff_s)
            backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    def _note_failure(self, error: Exception) -> None:
        if self._error is None or str(self._error) != str(error):
            log.warning("%s: %s", self.name, error)
        self._errors += 1
        self._error = error

    def _deliver(self, sample: S) -> None:
        for sink in self._sinks:
            try:
                sink(sample)
            except Exception:
                self._sink_errors += 1
                if self._sink_errors.bit_count() == 1:  # the 1st, 2nd, 4th, 8th ...: seen, yet no flood
                    log.exception("%s: a sink failed (%d times so far)", self.name, self._sink_errors)
        arrival_ns = clock.now_ns()
        with self._lock:
            self._arrivals_ns.append(arrival_ns)
            while self._arrivals_ns[0] <= arrival_ns - RATE_WINDOW_NS:
                self._arrivals_ns.popleft()
            self._latest = sample
            self._last_arrival_ns = arrival_ns
            self._count += 1
            self._error = None
