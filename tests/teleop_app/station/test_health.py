"""A stream out of its limits is found, located, and said in a sentence; a good one is left alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.configs import HealthLimits
from recorder.stamps import summarise
from teleop_app.station.health import HealthMonitor
from teleop_app.station.health_figures import Subject
from teleop_app.station.health_runs import HealthRun, Problem, RunLog

START_NS = 10_000_000_000
SECOND_NS = 1_000_000_000


def monitor(rate_hz: float = 30.0, *, latency_s: float = 0.0, drops: list[int] | None = None, **limits: object):
    subject = Subject("front", "frames", rate_hz, HealthLimits.model_validate(limits), latency_s)
    return HealthMonitor(subject, (lambda: drops[-1]) if drops is not None else lambda: 0)


def stamps(count: int, rate_hz: float, start_ns: int = START_NS) -> np.ndarray:
    return start_ns + np.round(np.arange(count) / rate_hz * 1e9).astype(np.int64)


def watch(one: HealthMonitor, time: np.ndarray, received: np.ndarray | None = None, stop_ns: int | None = None):
    """One whole episode; return its summary and its runs."""
    received = time if received is None else received
    one.prepare()
    one.begin(int(time[0]))
    for row in range(len(time)):
        one.observe(int(time[row]), int(received[row]))
    one.end(int(time[-1]) + 1 if stop_ns is None else stop_ns)
    summary = one.finish(summarise(time, received, one.subject.rate_hz, 0))
    return summary, one.take_runs()


def test_a_slow_loop_is_measured_stored_and_said() -> None:
    summary, runs = watch(monitor(), stamps(300, 24))
    assert summary.rate_hz == pytest.approx(24.0, abs=0.1)
    assert summary.warnings == ("front delivers 24.0 of 30 frames a second.",)
    (run,) = runs
    assert (run.problem, run.sentence) == (Problem.RATE, "front delivers 24.0 of 30 frames a second.")
    assert run.start_ns == START_NS
    assert run.end_ns == pytest.approx(START_NS + 299 / 24 * 1e9, abs=0.3e9)


def test_a_stale_camera_is_one_run_located_and_its_stamps_are_left_alone() -> None:
    received = stamps(90, 30)
    time = received.copy()
    time[30:60] = time[29]
    summary, runs = watch(monitor(), time, received)
    stale = [run for run in runs if run.problem is Problem.STALE]
    assert [(run.start_ns, run.end_ns) for run in stale] == [(received[29], received[59])]
    assert "delivers the same frame again, with its old stamp, for 1.0 s" in stale[0].sentence
    assert summary.stale_runs[0].rows == 30
    assert summary.out_of_limits_s["stale"] == pytest.approx(1.0)
    assert any("old stamp for 1.00 s" in warning for warning in summary.warnings)


@given(rate_hz=st.sampled_from([1.0, 15.0, 30.0, 200.0, 1000.0]), seed=st.integers(0, 9), late_s=st.floats(0, 0.2))
@settings(max_examples=30, deadline=None)
def test_a_good_stream_is_never_accused(rate_hz: float, seed: int, late_s: float) -> None:
    rng = np.random.default_rng(seed)
    count = round(rate_hz * 5)
    time = stamps(count, rate_hz) + rng.integers(0, max(1, round(0.2e9 / rate_hz)), count)
    received = time + round(late_s * 1e9)
    summary, runs = watch(monitor(rate_hz), time, received)
    assert (summary.warnings, runs, summary.out_of_limits_s) == ((), (), {})


def test_a_gap_is_located_to_the_sample_and_a_silent_end_counts() -> None:
    time = np.delete(stamps(120, 30), slice(40, 70))
    stop_ns = int(time[-1]) + SECOND_NS
    _, runs = watch(monitor(), time, stop_ns=stop_ns)
    gaps = [(run.start_ns, run.end_ns) for run in runs if run.problem is Problem.GAP]
    assert gaps == [(time[39], time[40]), (time[-1], stop_ns)]


def test_where_silence_ends_episodes_only_gaps_within_count() -> None:
    one, time = monitor(silent_edges=True), np.delete(stamps(120, 30), slice(40, 70))
    one.observe(START_NS - SECOND_NS, START_NS - SECOND_NS)
    summary, runs = watch(one, time, stop_ns=int(time[-1]) + SECOND_NS)
    gaps = [(run.start_ns, run.end_ns) for run in runs if run.problem is Problem.GAP]
    assert gaps == [(time[39], time[40])]
    assert summary.out_of_limits_s["gap"] == pytest.approx(31 / 30)


def test_silence_is_said_while_it_lasts() -> None:
    one = monitor()
    assert one.problems(START_NS) == {}
    one.observe(START_NS, START_NS)
    assert one.problems(START_NS + SECOND_NS // 10) == {}
    assert one.problems(START_NS + 2 * SECOND_NS) == {Problem.GAP: "front has been silent for 2.0 s."}


def test_irregular_intervals_are_said_with_both_figures() -> None:
    time = stamps(300, 30)
    time[1::2] += 30_000_000
    summary, runs = watch(monitor(), time)
    assert {run.problem for run in runs} == {Problem.JITTER}
    assert summary.jitter_s == pytest.approx(0.030, abs=0.031)
    assert "5 of 100 intervals differ by more than" in summary.warnings[0]
    assert "25.0 ms are allowed" in summary.warnings[0]


@pytest.mark.parametrize(
    ("offset_s", "sentence"),
    [
        (0.4, "Frames of front arrive 0.400 s after their stamps; 0.350 s are allowed."),
        (0.3, None),
        (-0.05, "Stamps of front lie 0.150 s in the future; check its clock."),
    ],
)
def test_a_clock_that_is_off_is_judged_beyond_the_known_latency(offset_s: float, sentence: str | None) -> None:
    time = stamps(150, 30)
    summary, runs = watch(monitor(latency_s=0.1), time, time + round(offset_s * 1e9))
    assert summary.offset_s == pytest.approx(offset_s)
    assert summary.warnings == ((sentence,) if sentence else ())
    assert {run.problem for run in runs} == ({Problem.OFFSET} if sentence else set())


def test_a_clock_that_drifts_is_found_and_measured() -> None:
    time = stamps(900, 30)
    received = time + np.linspace(5e6, 125e6, 900).astype(np.int64)
    summary, runs = watch(monitor(), time, received)
    assert summary.drift_s == pytest.approx(0.11, abs=0.01)
    assert {run.problem for run in runs} == {Problem.DRIFT}
    assert "has moved by +0.1" in summary.warnings[0]
    again, _ = watch(monitor(), time, time + 5_000_000)
    assert again.warnings == ()


def test_lost_samples_are_marked_where_they_were_lost() -> None:
    drops = [0]
    one = monitor(drops=drops)
    time = stamps(300, 30)
    one.prepare()
    one.begin(int(time[0]))
    for row, stamp in enumerate(time):
        if row == 150:
            drops.append(4)
        one.observe(int(stamp), int(stamp))
    one.end(int(time[-1]) + 1)
    summary = one.finish(summarise(time, time, 30, 0).model_copy(update={"drops": 4}))
    (run,) = one.take_runs()
    assert run.problem is Problem.DROPS
    assert run.start_ns <= time[150] <= run.end_ns
    assert summary.warnings == ("front has lost 4 frames.",)


def test_the_same_content_is_judged_only_when_asked_for() -> None:
    time = stamps(120, 30)
    for limit, found in ((None, set()), (0.5, {Problem.SAME_CONTENT})):
        one = monitor(same_content_s=limit)
        one.begin(START_NS)
        for row, stamp in enumerate(time):
            one.observe(int(stamp), int(stamp), b"same" if 30 <= row < 90 else bytes([row]))
        one.finish(summarise(time, time, 30, 0))
        runs = one.take_runs()
        assert {run.problem for run in runs} == found
        assert all((run.start_ns, run.end_ns) == (time[30], time[89]) for run in runs)


def test_limits_that_a_device_states_hold_for_it() -> None:
    summary, runs = watch(monitor(slow_below=0.7), stamps(300, 24))
    assert (summary.warnings, runs) == ((), ())


def test_a_pause_is_no_fault_of_the_stream() -> None:
    one, first, second = monitor(), stamps(90, 30), stamps(90, 30, START_NS + 10 * SECOND_NS)
    one.prepare()
    for part in (first, second):
        one.begin(int(part[0]))
        for stamp in part:
            one.observe(int(stamp), int(stamp))
        one.end(int(part[-1]) + 1)
    time = np.concatenate([first, second])
    summary = one.finish(summarise(time, time, 30, 0))
    assert [run for run in one.take_runs() if run.problem is Problem.GAP] == []
    assert not any("a second" in warning for warning in summary.warnings)


def test_trouble_that_began_before_the_episode_is_marked_from_its_start() -> None:
    one, time = monitor(), stamps(600, 24)
    for stamp in time[:300]:
        one.observe(int(stamp), int(stamp))
    one.prepare()
    one.begin(int(time[300]))
    for stamp in time[300:400]:
        one.observe(int(stamp), int(stamp))
    one.end(int(time[399]))
    one.finish(summarise(time[300:400], time[300:400], 30, 0))
    (run,) = one.take_runs()
    assert (run.start_ns, run.problem) == (time[300], Problem.RATE)
    assert run.end_ns <= time[399]


@given(
    runs=st.lists(st.tuples(st.integers(1, 100), st.integers(0, 30)), max_size=12),
    start=st.integers(1, 100),
    length=st.integers(1, 60),
    asked_after=st.integers(0, 12),
)
def test_an_episode_has_exactly_what_overlaps_it(
    runs: list[tuple[int, int]], start: int, length: int, asked_after: int
) -> None:
    """Also of runs that ended between the start and its announcement."""
    log, spans = RunLog("front"), sorted((begin, begin + lasts) for begin, lasts in runs)
    log.begin_episode()
    for number, (begin, end) in enumerate([*spans, (0, 0)]):
        if number == min(asked_after, len(spans)):
            log.begin(start)
        if end:
            log.add(Problem.GAP, begin, end, "")
    log.end(start + length)
    before_the_end = [(max(b, start), e) for b, e in spans if e > max(b, start)]
    assert [(run.start_ns, run.end_ns) for run in log.take()] == before_the_end
    assert log.finish().get(Problem.GAP, 0.0) == pytest.approx(sum(e - b for b, e in before_the_end) / 1e9)


def test_findings_close_together_are_one_run() -> None:
    log = RunLog("front")
    log.begin(1)
    for at in (10, 12, 20):
        log.bad(Problem.RATE, at - 5, at, f"at {at}")
        log.good(Problem.RATE, at + 1, hold_ns=9)
    log.good(Problem.RATE, 29, hold_ns=9)
    log.bad(Problem.RATE, 50, 60, "again")
    log.finish()
    assert log.take() == (
        HealthRun("front", Problem.RATE, 5, 20, "at 20"),
        HealthRun("front", Problem.RATE, 50, 60, "again"),
    )
