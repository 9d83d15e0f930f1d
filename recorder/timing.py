"""How punctual a stream is: the jitter of its intervals and the offset of its clock, in bounded memory.

Intervals are counted in bins of 1/512 of the expected period, so a percentile of any number of rows costs the same and
is exact to a bin. The offset, received minus time, is kept as one median of every 32 values, about one a second.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

BINS_PER_PERIOD = 512
LONGEST_PERIODS = 8
"""Longer intervals share the last bin; they are gaps."""
OFFSETS_PER_S = 32
"""About so many offsets a second are looked at."""
OFFSETS_PER_MEDIAN = 32
JITTER_SHARE = 0.95
"""Jitter is the distance from the median interval within which so many of the intervals are."""
_LAST_BIN = BINS_PER_PERIOD * LONGEST_PERIODS


class Timing:
    """Counts one stream's rows as they come. Not locked: whoever owns it is."""

    __slots__ = ("_bins", "_medians", "_recent", "_rows", "_scale", "_stride")

    def __init__(self, rate_hz: float) -> None:
        """Expect `rate_hz` [Hz]."""
        self._scale = BINS_PER_PERIOD * rate_hz / 1e9
        self._stride = max(1, round(rate_hz / OFFSETS_PER_S))
        self._bins = [0] * (_LAST_BIN + 1)
        self._medians = array("q")
        self._recent: list[int] = []
        self._rows = 0

    @classmethod
    def of(cls, time: NDArray[np.int64], received: NDArray[np.int64], rate_hz: float) -> "Timing":
        """The same from all rows at once, (T,) stamps and arrivals [ns]."""
        timing = cls(rate_hz)
        steps = np.diff(time)
        bins = np.minimum(np.floor(steps[steps > 0] * timing._scale + 0.5), _LAST_BIN).astype(np.int64)
        offsets = (received - time)[:: timing._stride]
        whole = len(offsets) // OFFSETS_PER_MEDIAN
        parts = np.sort(offsets[: whole * OFFSETS_PER_MEDIAN].reshape(whole, OFFSETS_PER_MEDIAN), axis=1)
        timing._bins = np.bincount(bins, minlength=_LAST_BIN + 1).tolist()
        timing._medians = array("q", parts[:, (OFFSETS_PER_MEDIAN - 1) // 2].tolist())
        timing._recent = offsets[whole * OFFSETS_PER_MEDIAN :].tolist()
        timing._rows = len(time)
        return timing

    def add(self, step_ns: int, offset_ns: int) -> None:
        """Count one row.

        Args:
            step_ns: Its stamp after that of the row before; 0 or less is no interval [ns].
            offset_ns: Its arrival after its stamp [ns].
        """
        if step_ns > 0:
            place = int(step_ns * self._scale + 0.5)
            self._bins[min(_LAST_BIN, place)] += 1
        if self._rows % self._stride == 0:
            self._recent.append(offset_ns)
            if len(self._recent) == OFFSETS_PER_MEDIAN:
                self._medians.append(sorted(self._recent)[(OFFSETS_PER_MEDIAN - 1) // 2])
                self._recent.clear()
        self._rows += 1

    @property
    def jitter_s(self) -> float | None:
        """95th percentile of |interval - median interval|, to 1/512 of the expected period; None below 2 intervals."""
        counts = np.array(self._bins, dtype=np.int64)
        total = int(counts.sum())
        if total <= 1:
            return None
        median = int(np.searchsorted(np.cumsum(counts), (total + 1) // 2))
        by_distance = np.bincount(np.abs(np.arange(len(counts)) - median), weights=counts).cumsum()
        return float(np.searchsorted(by_distance, JITTER_SHARE * total) / self._scale / 1e9)

    @property
    def offset_s(self) -> float | None:
        """Median of received minus time [s]; None before the first row."""
        offsets = self._medians or self._recent
        return float(np.median(offsets)) / 1e9 if len(offsets) else None

    @property
    def drift_s(self) -> float | None:
        """By how much the offset grew from the first tenth of the rows to the last tenth [s]; None below 2 seconds."""
        tenth = max(1, len(self._medians) // 10)
        if len(self._medians) <= 1:
            return None
        return float(np.median(self._medians[-tenth:]) - np.median(self._medians[:tenth])) / 1e9
