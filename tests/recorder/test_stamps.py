import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.episode import StaleRun
from recorder.stamps import StampCounter, summarise


@given(st.lists(st.tuples(st.integers(-3, 12), st.integers(0, 20)), max_size=60))
def test_live_figures_are_those_of_the_rows(steps: list[tuple[int, int]]) -> None:
    time = np.cumsum([1000, *(step for step, _ in steps)])
    received = np.cumsum([1000, *(step for _, step in steps)])
    counter = StampCounter(rate_hz=2.5e8)  # a period of 4 ns
    for row in range(len(time)):
        counter.add(int(time[row]), int(received[row]), 8)
    assert counter.summary() == summarise(time, received, 2.5e8, 8 * len(time))


def test_nothing_has_no_figures() -> None:
    empty = np.array([], dtype=np.int64)
    summary = summarise(empty, empty, 30, 0)
    assert summary == StampCounter(30).summary()
    assert (summary.samples, summary.rate_hz, summary.first_ns) == (0, None, None)


def test_a_slow_loop_is_measured_not_believed() -> None:
    time = np.round(np.arange(300) / 24 * 1e9).astype(np.int64) + 1
    summary = summarise(time, time, 30, 0)
    assert summary.rate_hz == pytest.approx(24.0, abs=0.1)
    assert summary.gaps == 0


def test_a_stale_camera_is_one_run_located() -> None:
    received = np.round(np.arange(90) / 30 * 1e9).astype(np.int64) + 1
    time = received.copy()
    time[30:60] = time[29]
    summary = summarise(time, received, 30, 0)
    assert summary.stale_runs == (StaleRun(row=30, rows=30, duration_s=1.0),)
    assert summary.duplicates == 30
    assert summary.gap_rows == (60,)
    assert summary.longest_gap_s == pytest.approx(31 / 30)
