import json
import os
import signal
import time

import numpy as np
import pytest

from drivers import clock
from drivers.configs import SimArmConfig
from drivers.errors import CommandRejectedError, DriverError
from drivers.latest_slot import SHARED_MEMORY
from drivers.samples import JointCommand, StampSource
from drivers.sim import workcell as w
from drivers.sim.arm import SimArm


def read_for(arm, seconds):
    states, deadline_ns = [], clock.now_ns() + round(seconds * 1e9)
    while clock.now_ns() < deadline_ns:
        state = arm.read(0.1)
        if state is not None:
            states.append(state)
    return states


def command(arm, position):
    return arm.command(JointCommand(clock.now_ns(), np.asarray(position, dtype=float)))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition, limit_s=3.0):
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def settled(arm, target):
    return until(lambda: np.abs(arm.read(0.5).position - target).max() < 0.04)


def test_states_come_at_the_configured_rate_each_once_with_their_own_stamps(arm):
    dropped, missed_s, before_ns = arm.dropped(), arm.missed_time_s(), clock.now_ns()
    states = read_for(arm, 1.0)
    stamps = np.array([state.stamp_ns for state in states])
    assert len(states) + 200 * (arm.missed_time_s() - missed_s) == pytest.approx(200, rel=0.1)
    assert (np.diff(stamps) > 0).all()
    assert before_ns - 50_000_000 < stamps[0] < stamps[-1] <= clock.now_ns()
    assert len(set(np.diff(stamps))) > 50, "stamps are read from the clock, not made from a count"
    assert all(state.received_ns >= state.stamp_ns for state in states)
    assert states[0].stamp_source is StampSource.DEVICE
    assert states[0].position.shape == states[0].velocity.shape == states[0].effort.shape == (6,)
    assert not states[0].position.flags.writeable
    assert arm.dropped() == dropped


@pytest.mark.slow
def test_another_rate_is_kept_too(run_id):
    arm = SimArm(SimArmConfig(name="slow", rate_hz=50), run_id)
    arm.connect()
    try:
        assert len(read_for(arm, 1.0)) + 50 * arm.missed_time_s() == pytest.approx(50, rel=0.1)
    finally:
        arm.disconnect()


def test_a_command_is_reached_and_kept_in_silence(arm):
    target = np.add(w.HOME, [0.3, 0.1, -0.1, -0.2, 0.3, 0.2])
    sent = command(arm, target)
    assert np.array_equal(sent.position, target)
    assert settled(arm, target)
    assert np.abs(read_for(arm, 0.7)[-1].position - target).max() < 0.04


def test_hold_stops_the_joints_and_keeps_the_gripper_closed(arm):
    command(arm, [1.5, *w.HOME[1:5], 0.0])
    assert until(lambda: arm.read(0.5).position[0] > 0.3)
    arm.hold()
    stopped = read_for(arm, 1.0)[-1]
    assert 0.3 < stopped.position[0] < 1.2
    assert np.abs(stopped.velocity[:5]).max() < 0.05
    assert stopped.position[5] < 0.05, "the gripper went on closing"


@pytest.mark.parametrize(
    ("position", "sentence"),
    [
        ([0.0] * 5, r"follower: a command has 6 joints, not shape \(5,\)"),
        ([0.0, 0.0, np.nan, 0.0, 0.0, np.inf], "the command for elbow_flex, gripper is not a finite number"),
    ],
)
def test_a_wrong_command_is_refused_and_nothing_is_sent(arm, position, sentence):
    with pytest.raises(CommandRejectedError, match=sentence):
        command(arm, position)
    assert np.abs(read_for(arm, 0.3)[-1].position - w.HOME).max() < 0.02


def test_a_target_outside_the_ranges_is_brought_back_returned_and_counted(arm):
    before = arm.clamped
    sent = command(arm, [9.0, *w.HOME[1:]])
    assert sent.position[0] == w.JOINT_RANGES[0][1]
    assert arm.clamped == before + 1
    command(arm, w.HOME)
    assert arm.clamped == before + 1


def test_reset_depends_on_the_seed_and_works_while_the_arm_moves(arm):
    arm.reset_scene(11)
    first = arm.object_positions()
    assert set(first) == {"block", "bin"}
    command(arm, [1.0, *w.HOME[1:]])
    assert until(lambda: arm.read(0.5).position[0] > 0.3)
    arm.reset_scene(12)
    assert np.abs(arm.object_positions()["block"] - first["block"]).max() > 0.005
    assert settled(arm, w.HOME)
    arm.reset_scene(11)
    assert arm.object_positions()["block"] == pytest.approx(first["block"], abs=1e-3)
    with pytest.raises(DriverError, match="scene seed -1 must be from 0"):
        arm.reset_scene(-1)


@pytest.mark.slow
def test_states_that_nobody_fetched_in_time_are_counted(run_id):
    arm = SimArm(SimArmConfig(name="fast", rate_hz=500), run_id)
    arm.connect()
    try:
        first = arm.read(0.5)
        assert until(lambda: arm._states.newest > 700, limit_s=5)
        second = arm.read(0.5)
        assert arm.dropped() > 150
        gap = (second.stamp_ns - first.stamp_ns) / 2e6
        assert arm.dropped() == pytest.approx(gap, rel=0.1)
    finally:
        arm.disconnect()


def test_time_that_the_world_could_not_simulate_is_counted_and_not_made_up(arm):
    pid, missed_s = arm.world_pid(), arm.missed_time_s()
    os.kill(pid, signal.SIGSTOP)
    try:
        assert until(lambda: arm.read(0.4) is None)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert until(lambda: arm.missed_time_s() > missed_s + 0.3)
    before = arm._states.newest
    states = read_for(arm, 0.2)
    assert states
    assert arm._states.newest - before < 60, "200 Hz for 0.2 s, and no burst for what was missed"


@pytest.mark.slow
def test_disconnect_leaves_nothing_and_the_arm_can_connect_again(own_arm, run_id):
    arm = own_arm
    first = arm.world_pid()
    assert alive(first)
    arm.disconnect()
    arm.disconnect()
    assert not alive(first)
    assert not [path for path in SHARED_MEMORY.iterdir() if run_id in path.name]
    with pytest.raises(DriverError, match="follower: not connected"):
        arm.read(0.1)
    with pytest.raises(DriverError, match="not connected"):
        command(arm, w.HOME)
    arm.connect()
    assert arm.read(0.5) is not None


def test_a_dead_world_is_said(own_arm):
    os.kill(own_arm.world_pid(), signal.SIGKILL)
    with pytest.raises(DriverError, match="follower: the simulated world has ended"):
        read_for(own_arm, 2.0)
    own_arm.disconnect()


def test_a_second_arm_of_the_same_run_is_refused_and_harms_nothing(arm, world):
    second = SimArm(SimArmConfig(name="second"), world[0])
    with pytest.raises(DriverError, match="already has a living writer"):
        second.connect()
    assert arm.read(0.5) is not None
    command(arm, w.HOME)


def test_two_worlds_run_side_by_side(arm, run_id):
    other = SimArm(SimArmConfig(name="other"), run_id)
    other.connect()
    try:
        command(other, [0.5, *w.HOME[1:]])
        assert until(lambda: other.read(0.5).position[0] > 0.4)
        assert abs(read_for(arm, 0.1)[-1].position[0]) < 0.02
    finally:
        other.disconnect()


def test_facts_are_json_ready_also_without_a_connection(arm):
    connected, apart = arm.facts(), SimArm(SimArmConfig(name="apart"), "nowhere").facts()
    assert json.loads(json.dumps(dict(connected))).keys() == apart.keys()
    assert connected["mujoco"]
