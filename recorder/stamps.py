"""What a stream came to, judged from its own stamps: rate, gaps, stale runs, order, punctuality.

The same figures are counted live, one row at a time, and computed again from what is on disk; both must agree.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recorder.episode import StaleRun, StreamSummary
from recorder.timing import Timing

GAP_PERIODS = 2.0
"""An interval longer than so many expected periods is a gap."""
LISTED = 1000
"""So many gaps and stale runs are located; the rest is counted only."""


@dataclass(slots=True)
class StampCounter:
    """Counts one stream's rows as they come. Not locked: the writer that owns it is."""

    rate_hz: float
    samples: int = 0
    drops: int = 0
    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    _gap_ns: float = 0.0
    _gaps: int = 0
    _longest_ns: int = 0
    _duplicates: int = 0
    _backwards: int = 0
    _stale: int = 0
    _stale_row: int = 0
    _stale_since_ns: int = 0
    _received_ns: int = 0
    _gap_rows: list[int] = field(default_factory=list)
    _stale_runs: list[StaleRun] = field(default_factory=list)
    _timing: Timing = field(init=False)

    def __post_init__(self) -> None:
        self._gap_ns = GAP_PERIODS * 1e9 / self.rate_hz
        self._timing = Timing(self.rate_hz)

    def add(self, time_ns: int, received_ns: int, size: int) -> None:
        """Count one row of `size` bytes."""
        step = 0
        if self.samples == 0:
            self.first_ns = time_ns
        else:
            step = time_ns - self.last_ns
            if step == 0:
                self._add_duplicate(received_ns)
            elif self._stale:
                self._end_stale_run()
            if step > self._longest_ns:
                self._longest_ns = step
            if step > self._gap_ns:
                self._gaps += 1
                if len(self._gap_rows) < LISTED:
                    self._gap_rows.append(self.samples)
            elif step < 0:
                self._backwards += 1
        self._timing.add(step, received_ns - time_ns)
        self.samples += 1
        self.bytes += size
        self.last_ns = time_ns
        self._received_ns = received_ns

    def _add_duplicate(self, received_ns: int) -> None:
        if not self._stale:
            self._stale_row = self.samples
            self._stale_since_ns = self._received_ns
        self._stale += 1
        self._duplicates += 1

    def _end_stale_run(self) -> None:
        if len(self._stale_runs) < LISTED:
            self._stale_runs.append(self._run())
        self._stale = 0

    def _run(self) -> StaleRun:
        duration_s = (self._received_ns - self._stale_since_ns) / 1e9
        return StaleRun(row=self._stale_row, rows=self._stale, duration_s=duration_s)

    def summary(self) -> StreamSummary:
        """The figures so far."""
        span_ns = self.last_ns - self.first_ns
        open_run = (self._run(),) if self._stale and len(self._stale_runs) < LISTED else ()
        return StreamSummary(
            samples=self.samples,
            first_ns=self.first_ns if self.samples else None,
            last_ns=self.last_ns if self.samples else None,
            rate_hz=(self.samples - 1) * 1e9 / span_ns if self.samples > 1 and span_ns > 0 else None,
            gaps=self._gaps,
            longest_gap_s=self._longest_ns / 1e9 if self._gaps else 0.0,
            gap_rows=tuple(self._gap_rows),
            duplicates=self._duplicates,
            stale_runs=(*self._stale_runs, *open_run),
            backwards=self._backwards,
            drops=self.drops,
            bytes=self.bytes,
            **_punctuality(self._timing),
        )


def summarise(time: NDArray[np.int64], received: NDArray[np.int64], rate_hz: float, size: int) -> StreamSummary:
    """The figures of a whole stream; `drops` is not in its stamps and stays 0.

    Args:
        time: Stamps of the rows, (T,) [ns].
        received: Stamps of their arrival, (T,) [ns].
        rate_hz: Expected rate [Hz].
        size: Payload of all rows [byte].
    """
    rows = len(time)
    steps = np.diff(time)
    gaps = np.flatnonzero(steps > GAP_PERIODS * 1e9 / rate_hz) + 1
    span_ns = int(time[-1] - time[0]) if rows else 0
    return StreamSummary(
        samples=rows,
        first_ns=int(time[0]) if rows else None,
        last_ns=int(time[-1]) if rows else None,
        rate_hz=(rows - 1) * 1e9 / span_ns if rows > 1 and span_ns > 0 else None,
        gaps=len(gaps),
        longest_gap_s=int(steps.max()) / 1e9 if len(gaps) else 0.0,
        gap_rows=tuple(int(row) for row in gaps[:LISTED]),
        duplicates=int(np.count_nonzero(steps == 0)),
        stale_runs=stale_runs(steps, received),
        backwards=int(np.count_nonzero(steps < 0)),
        bytes=size,
        **_punctuality(Timing.of(time, received, rate_hz)),
    )


def _punctuality(timing: Timing) -> dict[str, float | None]:
    return {"jitter_s": timing.jitter_s, "offset_s": timing.offset_s, "drift_s": timing.drift_s}


def stale_runs(steps: NDArray[np.int64], received: NDArray[np.int64]) -> tuple[StaleRun, ...]:
    """Runs of rows that repeat the stamp of the row before them, (T - 1,) steps and (T,) arrivals [ns]."""
    same = np.concatenate(([False], steps == 0, [False])).astype(np.int8)
    edges = np.diff(same)
    starts, ends = np.flatnonzero(edges == 1) + 1, np.flatnonzero(edges == -1) + 1
    return tuple(
        StaleRun(row=int(start), rows=int(end - start), duration_s=int(received[end - 1] - received[start - 1]) / 1e9)
        for start, end in zip(starts[:LISTED], ends[:LISTED], strict=True)
    )
