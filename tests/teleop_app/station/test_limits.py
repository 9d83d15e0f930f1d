"""Whatever a source asks for, nothing beyond the limits is sent."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from drivers.samples import frozen_array
from teleop_app.station.limits import Clamp, LimitedCommand, Limits, hold, limit

PERIOD_S = 0.005
JOINTS = 3
LIMITS = Limits(
    lower=frozen_array([-1.0, -0.5, 0.0]),
    upper=frozen_array([1.0, 0.5, 1.6]),
    velocity=2.0,
    acceleration=20.0,
    lag=0.5,
)
anything = npst.arrays(
    np.float64, JOINTS, elements=st.one_of(st.floats(-4, 4), st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
)


def at_rest(position: list[float]) -> LimitedCommand:
    return LimitedCommand(frozen_array(position), frozen_array(np.zeros(JOINTS)), Clamp.NONE)


@settings(max_examples=200, deadline=None)
@given(targets=st.lists(anything, min_size=1, max_size=60))
def test_no_sequence_of_targets_leaves_the_limits(targets: list[np.ndarray]) -> None:
    command = at_rest([0.0, 0.0, 0.5])
    for target in targets:
        measured = command.position
        following = limit(target, command, measured, LIMITS, PERIOD_S)
        step = following.position - command.position
        assert np.isfinite(following.position).all()
        assert (following.position >= LIMITS.lower).all()
        assert (following.position <= LIMITS.upper).all()
        assert np.abs(step).max() <= LIMITS.velocity * PERIOD_S + 1e-12
        if not following.clamps & Clamp.NOT_FINITE:
            change = np.abs(following.velocity - command.velocity).max()
            assert change <= LIMITS.acceleration * PERIOD_S + 1e-9
        command = following


def test_a_far_target_is_approached_without_overshoot_and_reached() -> None:
    command = at_rest([0.0, 0.0, 0.5])
    target = frozen_array([0.9, 0.0, 0.5])
    path = []
    for _ in range(400):
        command = limit(target, command, command.position, LIMITS, PERIOD_S)
        path.append(command.position[0])
    assert max(path) <= 0.9 + 1e-9
    assert abs(path[-1] - 0.9) < 1e-3


def test_every_alteration_is_named() -> None:
    rest = at_rest([0.0, 0.0, 0.5])
    assert limit(frozen_array([0.0, 0.0, 0.5]), rest, rest.position, LIMITS, PERIOD_S).clamps == Clamp.NONE
    assert limit(frozen_array([np.nan, 0.0, 0.5]), rest, rest.position, LIMITS, PERIOD_S).clamps == Clamp.NOT_FINITE
    far = limit(frozen_array([0.0, 0.9, 0.5]), rest, rest.position, LIMITS, PERIOD_S)
    assert Clamp.POSITION in far.clamps
    assert Clamp.VELOCITY in far.clamps
    blocked = limit(frozen_array([0.9, 0.0, 0.5]), rest, frozen_array([-0.2, 0.0, 0.5]), LIMITS, PERIOD_S)
    assert Clamp.LAG in blocked.clamps


def test_a_target_of_the_wrong_length_repeats_the_last_command() -> None:
    rest = at_rest([0.1, 0.2, 0.3])
    refused = limit(frozen_array([0.0, 0.0]), rest, rest.position, LIMITS, PERIOD_S)
    assert refused.clamps == Clamp.NOT_FINITE
    assert (refused.position == rest.position).all()


def test_hold_repeats_the_last_command_at_once() -> None:
    moving = LimitedCommand(frozen_array([0.1, 0.2, 0.3]), frozen_array([2.0, 0.0, 0.0]), Clamp.NONE)
    held = hold(moving)
    assert (held.position == moving.position).all()
    assert not held.velocity.any()
