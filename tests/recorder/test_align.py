import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorder.align import align, camera_clock, find_gaps, fixed_rate, runs, whole_ranges, window
from recorder.errors import ExportError


def stamps(count: int, hz: float, start_s: float = 0.0) -> np.ndarray:
    return np.round((np.arange(count) / hz + start_s) * 1e9).astype(np.int64)


def seconds(*values: float) -> np.ndarray:
    return np.round(np.array(values) * 1e9).astype(np.int64)


def test_frames_truly_at_24_hz_give_374_rows_at_30_and_never_300():
    camera = stamps(300, 24.0)
    rows = fixed_rate(*window({"top": camera}), fps=30)
    found = align(camera, rows, "nearest")
    assert len(rows) == 374
    assert camera[-1] / 1e9 == pytest.approx(12.458, abs=1e-3)
    assert (rows[-1] - rows[0]) / 1e9 == pytest.approx(373 / 30)
    assert found.age_s.max() <= 0.5 / 24
    assert found.held.sum() == 75


def test_operator_from_1_05_to_2_05_is_exactly_rows_11_to_20():
    ticks = stamps(601, 200.0)
    operator = (ticks >= 1_050_000_000) & (ticks < 2_050_000_000)
    rows = fixed_rate(0, 3_000_000_000, fps=10)
    label = align(ticks, rows, "previous").take(operator)
    assert np.flatnonzero(label).tolist() == list(range(11, 21))
    assert [(start, stop) for value, start, stop in runs(label) if value] == [(11, 21)]


def test_three_rates_share_the_camera_rows_and_stay_untouched():
    camera, joints, tactile = stamps(100, 30.0), stamps(334, 100.0), stamps(500, 150.0)
    before = joints.copy()
    rows = fixed_rate(*window({"camera": camera, "joints": joints, "tactile": tactile}), fps=30)
    assert len(rows) == 100
    for times in (camera, joints, tactile):
        assert len(align(times, rows, "nearest").lower) == 100
    assert align(joints, rows, "nearest").age_s.max() <= 0.005
    assert align(camera, rows, "nearest").lower.tolist() == list(range(100))
    assert (joints == before).all()
    assert (camera_clock(camera, 0, int(camera[-1]), 30) == camera).all()


def test_previous_takes_the_tick_at_the_row_and_knows_when_there_is_none():
    found = align(seconds(1.0, 2.0), seconds(0.5, 1.0, 1.999, 2.0, 2.5), "previous")
    assert found.lower.tolist() == [0, 0, 0, 1, 1]
    assert found.age_s.tolist() == [np.inf, 0.0, 0.999, 0.0, 0.5]
    assert found.held.tolist() == [False, True, True, False, True]


def test_a_line_is_exact_between_samples_and_on_them():
    found = align(seconds(0.0, 1.0, 2.0), seconds(0.0, 0.25, 1.0, 1.5, 2.0), "linear")
    assert found.take(np.array([[0.0, 10.0], [4.0, 20.0], [8.0, 40.0]])).tolist() == [
        [0.0, 10.0],
        [1.0, 12.5],
        [4.0, 20.0],
        [6.0, 30.0],
        [8.0, 40.0],
    ]
    assert found.age_s.tolist() == [0.0, 0.75, 0.0, 0.5, 0.0]
    assert not found.held.any()


def test_no_line_is_drawn_across_a_change_of_control_source():
    found = align(seconds(0.0, 1.0, 2.0), seconds(0.25, 0.75, 1.5), "linear", edges=seconds(0.5))
    assert found.take(np.array([0.0, 10.0, 20.0])).tolist() == [0.0, 10.0, 15.0]
    assert found.held.tolist() == [True, True, False]


def test_a_row_between_two_edges_holds_the_earlier_sample():
    found = align(seconds(0.0, 1.0), seconds(0.9), "linear", edges=seconds(0.8, 0.95))
    assert found.take(np.array([3.0, 7.0])).tolist() == [3.0]


def test_nearest_keeps_to_the_side_of_the_edge():
    rows = seconds(0.4, 0.6)
    assert align(seconds(0.0, 0.5, 1.0), rows, "nearest", edges=seconds(0.45)).lower.tolist() == [0, 1]
    assert align(seconds(0.0, 0.5, 1.0), rows, "nearest").lower.tolist() == [1, 1]


def test_samples_that_stepped_back_in_time_are_found_at_their_own_time():
    found = align(seconds(0.0, 0.2, 0.1, 0.3), seconds(0.1, 0.2), "nearest")
    assert found.lower.tolist() == [2, 1]


def test_a_gap_is_located_and_splits_the_rows():
    camera = np.delete(stamps(100, 10.0), np.arange(40, 50))
    rows = fixed_rate(0, int(camera[-1]), fps=10)
    gaps = find_gaps({"top": (align(camera, rows, "previous"), 0.2), "arm": (align(rows, rows, "previous"), 0.2)})
    assert [(gap.stream, gap.start, gap.stop) for gap in gaps] == [("top", 42, 50)]
    assert gaps[0].age_s == pytest.approx(1.0)
    assert whole_ranges(len(rows), gaps) == ((0, 42), (50, 100))


def test_streams_that_never_overlap_are_named():
    with pytest.raises(ExportError, match=r"stream top ends 1\.000 s before stream arm begins"):
        window({"top": seconds(0.0, 1.0), "arm": seconds(2.0, 3.0)})
    with pytest.raises(ExportError, match="stream arm has no usable sample"):
        window({"top": seconds(0.0), "arm": seconds()})


def test_a_rate_below_one_is_refused():
    with pytest.raises(ExportError, match="at least 1, not 0"):
        fixed_rate(0, 1, 0)


def test_a_camera_clock_that_would_lie_about_time_is_refused():
    with pytest.raises(ExportError, match="do not lie at 30 a second"):
        camera_clock(stamps(300, 24.0), 0, 10**12, 30)


@given(
    times=st.lists(st.integers(0, 10**10), min_size=1, max_size=40, unique=True),
    rows=st.lists(st.integers(0, 10**10), min_size=1, max_size=40, unique=True),
)
def test_every_method_agrees_with_the_definition(times: list[int], rows: list[int]):
    samples, clock = np.array(times, np.int64), np.sort(np.array(rows, np.int64))
    nearest = align(samples, clock, "nearest")
    assert (np.abs(samples[nearest.lower] - clock) == np.abs(samples[None] - clock[:, None]).min(1)).all()
    previous = align(samples, clock, "previous")
    for row, index, age in zip(clock, previous.lower, previous.age_s, strict=True):
        before = samples[samples <= row]
        assert age == np.inf if not len(before) else samples[index] == before.max()
    inside = (clock >= samples.min()) & (clock <= samples.max())
    line = align(samples, clock, "linear").take(samples.astype(np.float64))
    assert np.allclose(line[inside], clock[inside])
