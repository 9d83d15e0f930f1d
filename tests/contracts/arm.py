"""What every follower must do, whatever it is made of: subclass `ArmContract` and provide the fixtures.

class TestMyArm(ArmContract):
    @pytest.fixture
    def arm(self): ...      # not connected; clean up after the test
    @pytest.fixture
    def reachable(self): ... # joint positions [rad] near the start, shape (n_joints,)
"""

import itertools
import json
import time

import numpy as np
import pytest

from drivers import clock
from drivers.errors import CommandRejectedError, DriverError
from drivers.protocols import Arm
from drivers.samples import FloatArray, JointCommand, JointState, StampSource


def next_state(arm: Arm, timeout_s: float = 5.0) -> JointState:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        state = arm.read(0.1)
        if state is not None:
            return state
    pytest.fail(f"{arm.name} delivered nothing for {timeout_s} s")


def command_to(arm: Arm, position: FloatArray) -> JointCommand:
    return arm.command(JointCommand(clock.now_ns(), position))


class ArmContract:
    """The suite; `TOLERANCE_RAD` is how near the arm comes to a command."""

    TOLERANCE_RAD = 0.03

    @pytest.fixture
    def arm(self) -> Arm:
        raise NotImplementedError

    @pytest.fixture
    def reachable(self) -> FloatArray:
        raise NotImplementedError

    @pytest.fixture
    def connected(self, arm: Arm) -> Arm:
        arm.connect()
        return arm

    def test_it_knows_its_joints_before_it_is_connected(self, arm, reachable):
        assert len(set(arm.joint_names)) == len(reachable) == len(arm.joint_names)
        assert arm.name

    def test_disconnect_is_allowed_in_every_state(self, arm):
        arm.disconnect()
        arm.connect()
        arm.disconnect()
        arm.disconnect()

    def test_it_connects_again(self, arm):
        for _ in range(2):
            arm.connect()
            next_state(arm)
            arm.disconnect()

    def test_samples_are_whole_frozen_and_in_order(self, connected):
        states = [next_state(connected) for _ in range(5)]
        assert all(earlier.stamp_ns < later.stamp_ns for earlier, later in itertools.pairwise(states))
        for state in states:
            assert state.stamp_ns <= state.received_ns <= clock.now_ns()
            assert isinstance(state.stamp_source, StampSource)
            for values in (state.position, state.velocity, state.effort):
                assert values.shape == (len(connected.joint_names),)
                assert not values.flags.writeable
            assert np.isfinite(state.position).all()

    def test_a_read_that_may_not_wait_returns(self, connected):
        before = time.monotonic()
        for _ in range(3):
            connected.read(0.0)
        assert time.monotonic() - before < 1.0

    def test_a_command_arrives(self, connected, reachable):
        next_state(connected)
        sent = command_to(connected, reachable)
        assert sent.position == pytest.approx(reachable, abs=self.TOLERANCE_RAD)
        deadline = time.monotonic() + 10
        error = np.inf
        while error > self.TOLERANCE_RAD and time.monotonic() < deadline:
            command_to(connected, reachable)
            error = float(np.abs(next_state(connected).position - reachable).max())
        assert error <= self.TOLERANCE_RAD

    @pytest.mark.parametrize("bad", ["short", "long", "nan", "infinite"])
    def test_an_invalid_command_is_refused_and_not_sent(self, connected, reachable, bad):
        start = next_state(connected).position
        position = {
            "short": reachable[:-1],
            "long": np.append(reachable, 0.0),
            "nan": np.where(np.arange(len(reachable)) == 1, np.nan, reachable),
            "infinite": np.where(np.arange(len(reachable)) == 0, np.inf, reachable),
        }[bad]
        with pytest.raises(CommandRejectedError):
            command_to(connected, position)
        for _ in range(3):
            assert next_state(connected).position == pytest.approx(start, abs=self.TOLERANCE_RAD)

    def test_hold_stops_where_it_is(self, connected, reachable):
        next_state(connected)
        command_to(connected, reachable)
        next_state(connected)
        connected.hold()
        settled = [next_state(connected).position for _ in range(40)][20:]
        assert float(np.ptp(settled, axis=0).max()) < self.TOLERANCE_RAD

    def test_facts_can_be_written_as_json(self, connected):
        assert json.loads(json.dumps(dict(connected.facts()), allow_nan=False))

    def test_nothing_is_lost_without_being_counted(self, connected):
        next_state(connected)
        assert connected.dropped() >= 0

    def test_what_is_not_connected_says_so(self, arm, reachable):
        with pytest.raises(DriverError):
            arm.read(0.01)
        with pytest.raises(DriverError):
            command_to(arm, reachable)
