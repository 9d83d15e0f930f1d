"""Header stamps of right, wrong and absent clocks on the monotonic clock, without ROS."""

import json

import pytest

from drivers.clock import ClockAnchor
from drivers.ros2 import stamps
from drivers.ros2.stamps import AnchorKeeper, HeaderClock
from drivers.samples import StampSource

MS = 1_000_000
S = 1_000_000_000
HOUR = 3600 * S
ANCHOR = ClockAnchor(monotonic_ns=500 * S, utc_ns=1_800_000_000 * S, uncertainty_ns=0)
UTC_MINUS_MONOTONIC = ANCHOR.utc_ns - ANCHOR.monotonic_ns


def play(clock: HeaderClock, count: int, ahead_ns: int, delays_ns: list[int], start_ns: int = 500 * S) -> list[int]:
    """Send `count` messages 10 ms apart through `clock`; return each stamp minus its true time."""
    errors = []
    for index in range(count):
        true_ns = start_ns + index * 10 * MS
        received_ns = true_ns + delays_ns[index % len(delays_ns)]
        stamp_ns, source = clock.stamp(true_ns + UTC_MINUS_MONOTONIC + ahead_ns, received_ns, ANCHOR)
        assert source is StampSource.HEADER
        errors.append(stamp_ns - true_ns)
    return errors


def test_agreeing_clocks_give_the_header_exactly():
    clock = HeaderClock()
    assert play(clock, 50, 0, [2 * MS, 9 * MS]) == [0] * 50
    assert not clock.corrected
    assert clock.facts()["header_clock_ahead_s"] == pytest.approx(-0.002)


@pytest.mark.parametrize("ahead_ns", [HOUR, -HOUR, 5 * S, -5 * S, 50 * MS])
def test_a_clock_that_is_off_is_found_said_and_corrected(ahead_ns):
    clock = HeaderClock()
    errors = play(clock, 100, ahead_ns, [3 * MS, MS, 4 * MS])
    assert max(abs(error) for error in errors) <= 4 * MS, "rows must still pair within a period of 10 ms"
    assert clock.corrected
    assert clock.facts()["header_clock_ahead_s"] == pytest.approx(ahead_ns / S, abs=0.005)


def test_a_corrected_stamp_keeps_the_publishers_spacing():
    errors = play(HeaderClock(), 100, HOUR, [MS, 4 * MS, 2 * MS])
    assert len(set(errors)) == 1


def test_a_zero_stamp_means_receive_time():
    clock = HeaderClock()
    assert clock.stamp(0, 501 * S, ANCHOR) == (501 * S, StampSource.RECEIVE)
    facts = clock.facts()
    assert facts["stamps"] == {"header": 0, "receive": 1}
    assert facts["header_clock_ahead_s"] is None
    json.dumps(facts, allow_nan=False)


def test_one_late_message_keeps_its_own_stamp():
    clock = HeaderClock()
    play(clock, 20, 0, [2 * MS])
    true_ns = 501 * S
    assert clock.stamp(true_ns + UTC_MINUS_MONOTONIC, true_ns + 400 * MS, ANCHOR)[0] == true_ns


def test_a_clock_that_steps_is_counted_and_followed():
    clock = HeaderClock()
    play(clock, 20, 0, [2 * MS])
    errors = play(clock, 20, HOUR, [2 * MS], start_ns=501 * S)
    assert max(abs(error) for error in errors) <= 2 * MS
    assert clock.facts()["header_clock_steps"] == 1


def test_slow_drift_is_followed():
    clock = HeaderClock()
    for minute in range(60):
        errors = play(clock, 10, HOUR + minute * 3 * MS, [2 * MS], start_ns=500 * S + minute * 60 * S)
    assert max(abs(error) for error in errors) <= 6 * MS


def test_a_preempted_reading_of_the_clocks_does_not_move_stamps_but_a_step_does(monkeypatch):
    sharp, blurred = ClockAnchor(0, S, 50), ClockAnchor(10 * S, 11 * S + 400_000, 450_000)
    sharper, stepped = ClockAnchor(20 * S, 21 * S + 10, 40), ClockAnchor(30 * S, 36 * S, 60)
    readings = [sharp, blurred, sharper, stepped, blurred]
    monkeypatch.setattr(stamps, "read_anchor", iter(readings).__next__)
    keeper = AnchorKeeper()
    assert [keeper.read() for _ in readings] == [sharp, sharp, sharper, stepped, blurred]
