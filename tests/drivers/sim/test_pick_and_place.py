import math

import numpy as np
import pytest

from drivers.sim import workcell as w
from drivers.sim.physics import Physics
from drivers.sim.pick_and_place import Phase, PickAndPlace, block_in_bin, block_lifted

RATE_HZ = 200
MISS = (0.04, 0.0)


@pytest.fixture(scope="module")
def physics():
    return Physics(1 / RATE_HZ)


def play(physics, script, seconds, start_s=0.0):
    """Let the script act at each state; return the phases passed, and when it was done [s] or None."""
    phases = []
    for count in range(round(seconds * RATE_HZ)):
        state = physics.snapshot()
        now_ns = round((start_s + count / RATE_HZ) * 1e9)
        physics.command(script.target(now_ns, state.position, state.objects()))
        if script.phase not in phases[-1:]:
            phases.append(script.phase)
        if script.phase is Phase.DONE:
            return phases, count / RATE_HZ
        physics.advance()
    return phases, None


def objects(physics):
    return physics.snapshot().objects()


@pytest.mark.parametrize("seed", range(8))
def test_the_block_gets_into_the_bin(physics, seed):
    physics.reset(seed)
    phases, done_s = play(physics, PickAndPlace(), 12)
    assert done_s is not None
    assert phases == list(Phase), "each phase once, in order"
    assert block_in_bin(objects(physics))


@pytest.mark.parametrize("offset", [MISS, (0.0, -0.04), (-0.03, 0.03)])
def test_aiming_beside_the_block_misses_it_without_touching_it(physics, offset):
    physics.reset(3)
    start = objects(physics)["block"]
    phases, done_s = play(physics, PickAndPlace(offset), 9)
    assert done_s is None
    assert Phase.LIFT in phases
    assert Phase.CARRY not in phases
    assert phases.count(Phase.APPROACH) > 1, "it tries again"
    assert objects(physics)["block"] == pytest.approx(start, abs=1e-3)


@pytest.mark.parametrize("missed_s", [2.2, 3.0, 4.5])
def test_a_good_script_recovers_from_the_miss(physics, missed_s):
    physics.reset(4)
    play(physics, PickAndPlace(MISS), missed_s)
    _, done_s = play(physics, PickAndPlace(), 12, start_s=100)
    assert done_s is not None
    assert block_in_bin(objects(physics))


def move_arm(physics, pan, seconds=1.0):
    """Move as an operator would, keeping the gripper shut."""
    start = physics.snapshot().position.copy()
    goal = np.array([pan, *w.HOME[1:5], 0.0])
    steps = round(seconds * RATE_HZ)
    for step in range(steps):
        target = start + (goal - start) * (step + 1) / steps
        target[5] = 0.0
        physics.command(target)
        physics.advance()


def test_it_carries_on_with_the_block_that_somebody_else_holds(physics):
    physics.reset(2)
    script = PickAndPlace()
    play(physics, script, 3.6)
    assert script.phase is Phase.CARRY
    move_arm(physics, pan=0.6)
    assert block_lifted(objects(physics))
    phases, done_s = play(physics, script, 8, start_s=100)
    assert phases[0] is Phase.CARRY
    assert Phase.GRASP not in phases
    assert done_s is not None


def test_it_is_done_when_the_block_lies_in_the_bin_and_starts_again_after_a_reset(physics):
    physics.reset(1)
    script = PickAndPlace()
    play(physics, script, 12)
    fresh = PickAndPlace()
    phases, _ = play(physics, fresh, 3, start_s=50)
    assert phases == [Phase.RETREAT, Phase.DONE]
    physics.reset(2)
    phases, done_s = play(physics, script, 12, start_s=50)
    assert phases[0] is Phase.APPROACH
    assert done_s is not None


def test_it_starts_from_any_pose(physics):
    physics.reset(6)
    physics.command(np.array([-1.2, 0.3, -0.6, 0.4, 1.5, 0.0]))
    for _ in range(RATE_HZ):
        physics.advance()
    _, done_s = play(physics, PickAndPlace(), 14)
    assert done_s is not None


def test_targets_are_smooth_and_slow_and_thirty_a_second_are_enough(physics):
    physics.reset(7)
    script = PickAndPlace()
    targets = []
    for count in range(12 * RATE_HZ):
        state = physics.snapshot()
        if count % 7 == 0:
            targets.append(script.target(round(count * 1e9 / RATE_HZ), state.position, state.objects()))
        physics.command(targets[-1])
        physics.advance()
    assert block_in_bin(objects(physics))
    speed = np.abs(np.diff(targets, axis=0)).max() * RATE_HZ / 7
    assert speed < 1.55


def test_it_works_behind_a_limiter_of_half_a_radian_per_second(physics):
    physics.reset(5)
    script, sent = PickAndPlace(), np.array(w.HOME)
    for count in range(14 * RATE_HZ):
        state = physics.snapshot()
        step = script.target(round(count * 1e9 / RATE_HZ), state.position, state.objects()) - sent
        sent = sent + step * min(1.0, 0.5 / RATE_HZ / max(np.abs(step).max(), 1e-9))
        physics.command(sent)
        physics.advance()
    assert block_in_bin(objects(physics))


def test_a_block_out_of_reach_is_waited_for_at_home(physics):
    physics.reset(0)
    script = PickAndPlace()
    for count in range(3 * RATE_HZ):
        state = physics.snapshot()
        far = {**state.objects(), "block": np.array([0.6, 0.0, 0.015])}
        physics.command(script.target(round(count * 1e9 / RATE_HZ), state.position, far))
        physics.advance()
    assert math.dist(physics.snapshot().position[:5], w.HOME[:5]) < 0.1
