import math

import numpy as np
import pytest

from drivers.sim import workcell as w
from drivers.sim.kinematics import ToolPose, inverse
from drivers.sim.physics import MAX_STEP_S, Physics

PERIOD_S = 0.005


@pytest.fixture(scope="module")
def physics():
    return Physics(PERIOD_S)


def hold(physics, target, seconds):
    physics.command(np.asarray(target))
    for _ in range(round(seconds / PERIOD_S)):
        physics.advance()


def block(physics):
    return physics.snapshot().objects()["block"]


@pytest.mark.parametrize("rate_hz", [50, 100, 200, 333, 500])
def test_steps_are_short_and_fill_the_period(rate_hz):
    physics = Physics(1 / rate_hz)
    assert physics.step_s <= MAX_STEP_S + 1e-12
    assert (1 / rate_hz) / physics.step_s == pytest.approx(round((1 / rate_hz) / physics.step_s))


def test_a_reset_depends_on_the_seed_only(physics):
    physics.reset(5)
    first = physics.snapshot().scene
    hold(physics, np.array(w.HOME) + 0.2, 0.3)
    physics.reset(6)
    assert not np.allclose(first, physics.snapshot().scene)
    physics.reset(5)
    assert np.array_equal(first, physics.snapshot().scene)


@pytest.mark.parametrize("seed", range(20))
def test_a_reset_leaves_the_block_at_rest_on_the_table_within_reach(physics, seed):
    physics.reset(seed)
    start = block(physics)
    assert w.BLOCK_RADIUS[0] <= math.hypot(*start[:2]) <= w.BLOCK_RADIUS[1]
    hold(physics, w.HOME, 0.1)
    assert block(physics) == pytest.approx(start, abs=1e-3)
    assert not physics.snapshot().touch.any()


def test_a_command_is_reached_and_kept(physics):
    physics.reset(0)
    target = np.add(w.HOME, [0.5, 0.2, -0.2, -0.3, 0.4, 0.3])
    hold(physics, target, 1.5)
    assert physics.snapshot().position == pytest.approx(target, abs=0.03)
    assert np.abs(physics.snapshot().velocity).max() < 0.02


def test_the_pads_feel_the_grasp_and_friction_lifts_the_block(physics):
    physics.reset(0)
    x, y, _ = block(physics) - [0, 0.008, 0]
    arm = inverse(ToolPose(x, y, 0.017, w.POINTING_DOWN))
    above = inverse(ToolPose(x, y, 0.08, w.POINTING_DOWN))
    hold(physics, np.append(above, 0.6), 1.0)
    hold(physics, np.append(arm, 0.6), 0.7)
    assert not physics.snapshot().touch.any()
    hold(physics, np.append(arm, 0.0), 0.7)
    pressure = physics.snapshot().touch[:, 0].sum(axis=(1, 2))
    assert (pressure > 3).all(), pressure
    assert pressure[0] == pytest.approx(pressure[1], rel=0.2)
    hold(physics, np.append(above, 0.0), 2.0)
    assert block(physics)[2] > 0.06
    shear = physics.snapshot().touch[:, 1:].sum(axis=(2, 3))
    assert np.abs(shear.sum(axis=0)).max() == pytest.approx(0.025 * 9.81, rel=0.3), "the pads carry the block's weight"


def test_the_arm_can_press_on_the_table_without_passing_it(physics):
    physics.reset(0)
    above = inverse(ToolPose(0.2, -0.05, 0.03, w.POINTING_DOWN))
    hold(physics, [*above, 0.0], 1)
    above[1] += 0.4
    hold(physics, [*above, 0.0], 1)
    assert 0.0 < physics.tool_position()[2] < 0.02
    assert abs(physics.snapshot().effort[1]) > 0.3
