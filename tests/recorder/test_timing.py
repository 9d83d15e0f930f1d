"""Jitter, offset and drift in bounded memory are those of all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.timing import BINS_PER_PERIOD, LONGEST_PERIODS, Timing

RATE_HZ = 100.0
PERIOD_NS = 10_000_000
BIN_S = PERIOD_NS / BINS_PER_PERIOD / 1e9


def counted(time: np.ndarray, received: np.ndarray, rate_hz: float = RATE_HZ) -> Timing:
    timing = Timing(rate_hz)
    for row in range(len(time)):
        timing.add(int(time[row] - time[row - 1]) if row else 0, int(received[row] - time[row]))
    return timing


@given(st.lists(st.integers(-PERIOD_NS, (LONGEST_PERIODS - 1) * PERIOD_NS), min_size=3, max_size=300))
def test_jitter_is_the_percentile_of_the_distances_to_the_median(steps: list[int]) -> None:
    time = np.cumsum([10**9, *steps])
    timing = counted(time, time)
    intervals = np.sort([step for step in steps if step > 0])
    if len(intervals) < 2:
        assert timing.jitter_s is None
        return
    median = intervals[(len(intervals) - 1) // 2]
    distances = np.sort(abs(intervals - median))
    expected_s = distances[int(np.ceil(0.95 * len(distances))) - 1] / 1e9
    assert timing.jitter_s == pytest.approx(expected_s, abs=1.01 * BIN_S)


@given(st.integers(0, 4), st.integers(0, 2000), st.integers(0, 100))
def test_row_by_row_and_all_at_once_agree(seed: int, rows: int, rate_hz: int) -> None:
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.integers(0, 3 * PERIOD_NS, rows))
    received = time + rng.integers(0, PERIOD_NS, rows)
    live, whole = counted(time, received, rate_hz + 1.0), Timing.of(time, received, rate_hz + 1.0)
    assert (live.jitter_s, live.offset_s, live.drift_s) == (whole.jitter_s, whole.offset_s, whole.drift_s)


def test_a_regular_stream_has_no_jitter_whatever_its_rate() -> None:
    time = np.round(np.arange(300) / 24 * 1e9).astype(np.int64)
    assert Timing.of(time, time, 30.0).jitter_s == 0.0


def test_an_offset_and_its_drift_are_found_under_noise_and_outliers() -> None:
    rng = np.random.default_rng(3)
    time = np.arange(60_000) * PERIOD_NS  # ten minutes
    offset = 4_000_000 + np.linspace(0, 30_000_000, len(time)) + rng.normal(0, 1_000_000, len(time))
    offset[rng.integers(0, len(time), 600)] += 500_000_000
    timing = Timing.of(time, time + offset.astype(np.int64), RATE_HZ)
    assert timing.offset_s == pytest.approx(0.019, abs=0.0005)
    assert timing.drift_s == pytest.approx(0.027, abs=0.0005)  # middle of the last tenth less that of the first


def test_nothing_has_no_figures() -> None:
    timing = Timing(RATE_HZ)
    assert (timing.jitter_s, timing.offset_s, timing.drift_s) == (None, None, None)
