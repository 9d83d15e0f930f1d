"""The control tick, with time brought by the test: takeovers freeze at once, never jump, and silence holds."""

from typing import Any

import numpy as np
import pytest

from drivers.errors import DriverError
from drivers.polling import PollingReader
from drivers.samples import FloatArray, JointCommand, JointState, frozen_array
from recorder.segments import ControlSource
from teleop_app.station.arbiter import SOURCES, Edge, Phase
from teleop_app.station.config import ControlConfig
from teleop_app.station.control_loop import ControlLoop
from teleop_app.station.follower import Follower
from teleop_app.station.limits import Clamp, Limits
from teleop_app.station.proposals import Proposal
from teleop_app.station.tick import TickRecord

JOINTS = 6
PERIOD_NS = 5_000_000
VELOCITY = 2.0
STEP = VELOCITY * 0.005
AHEAD = frozen_array(np.full(JOINTS, 0.25))
BEHIND = frozen_array(np.full(JOINTS, -0.25))


class Arm:
    """Goes where it is told, unless its cable is out."""

    def __init__(self) -> None:
        self.position = np.zeros(JOINTS)
        self.commands: list[FloatArray] = []
        self.broken = False

    def command(self, command: JointCommand) -> JointCommand:
        if self.broken:
            raise DriverError("the cable is out")
        self.position = command.position.copy()
        self.commands.append(command.position)
        return command


class Policy:
    """Proposes what the test says, while the test says something."""

    def __init__(self) -> None:
        self.action: FloatArray | None = None
        self.latest: Proposal | None = None
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1
        self.latest = None

    def propose(self, stamp_ns: int) -> None:
        if self.action is not None:
            self.latest = Proposal(stamp_ns, self.action, 0.001)


class Operator(Policy):
    """The same as the operator's device."""

    handover_mode = "leader_to_follower"

    def __init__(self, *, direct: bool) -> None:
        super().__init__()
        self.direct = direct

    def engage(self) -> None:
        self.reset()


class OperatorPort:
    """The operator as the loop wants it: `latest` is a call."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.direct, self.handover_mode, self.engage = operator.direct, operator.handover_mode, operator.engage

    def latest(self) -> Proposal | None:
        return self._operator.latest


class Bench:
    """A loop, its arm and whoever proposes, on a clock of the test's own."""

    def __init__(self, *, direct: bool = True) -> None:
        self.now_ns = 1_000_000_000_000
        self.arm, self.policy, self.operator = Arm(), Policy(), Operator(direct=direct)
        self.rows: list[TickRecord] = []
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self.silent_arm = False
        self._state: JointState | None = None
        self.reader: PollingReader[JointState] = PollingReader("arm", lambda _timeout_s: self._state)
        limits = Limits(frozen_array(np.full(JOINTS, -2.0)), frozen_array(np.full(JOINTS, 2.0)), VELOCITY, 40.0, 0.5)
        follower = Follower(self.arm, self.reader, limits)
        self.loop = ControlLoop(ControlConfig(), follower, OperatorPort(self.operator), self.policy, self.rows.append)
        self.loop.on_event = lambda time_ns, kind, detail: self.events.append((time_ns, kind, detail))

    def tick(self, count: int = 1) -> TickRecord:
        for _ in range(count):
            self.now_ns += PERIOD_NS
            stamp_ns = self.now_ns - 1_000_000
            zeros = frozen_array(np.zeros(JOINTS))
            if not self.silent_arm:
                self.reader._latest = JointState(stamp_ns, stamp_ns, frozen_array(self.arm.position), zeros, zeros)
            self.policy.propose(stamp_ns)
            self.operator.propose(stamp_ns)
            self.loop.tick(self.now_ns, self.now_ns)
        return self.rows[-1]

    def ask(self, edge: Edge) -> None:
        self.loop.requests.put(edge, "test")

    def start_policy(self, action: FloatArray) -> None:
        self.policy.action = action
        self.ask(Edge.START_POLICY)
        self.tick(120)
        assert self.phase is Phase.POLICY

    @property
    def phase(self) -> Phase:
        return self.loop.arbiter.phase

    def largest_step(self) -> float:
        return float(np.abs(np.diff(np.array(self.arm.commands), axis=0)).max())


def test_a_takeover_freezes_the_command_in_the_same_tick() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.policy.action = frozen_array(AHEAD * 2)
    moving = bench.tick(5)
    bench.ask(Edge.TAKEOVER)
    frozen = bench.tick()
    assert moving.sent is not None
    assert frozen.sent is not None
    assert (frozen.sent == moving.sent).all()
    assert SOURCES[frozen.phase] is ControlSource.HANDOVER


def test_a_takeover_with_the_hand_elsewhere_moves_smoothly_to_it() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.operator.action = BEHIND
    bench.ask(Edge.TAKEOVER)
    bench.tick(300)
    assert bench.phase is Phase.OPERATOR
    assert bench.largest_step() <= STEP + 1e-12
    np.testing.assert_allclose(bench.arm.position, BEHIND, atol=1e-3)


def test_a_leader_far_from_the_follower_does_not_engage_until_it_is_aligned_and_the_operator_consents() -> None:
    bench = Bench(direct=False)
    bench.start_policy(AHEAD)
    bench.operator.action = frozen_array(AHEAD + 0.5)
    bench.ask(Edge.TAKEOVER)
    bench.tick(200)
    assert bench.phase is Phase.ALIGN
    assert all(SOURCES[row.phase] is not ControlSource.OPERATOR for row in bench.rows)
    bench.operator.action = frozen_array(AHEAD + 0.01)
    bench.tick(100)
    assert bench.phase is Phase.READY
    bench.ask(Edge.TAKEOVER)
    bench.tick(100)
    assert bench.phase is Phase.OPERATOR
    assert bench.largest_step() <= STEP + 1e-12


def test_a_release_resets_the_policy_and_blends_back() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.operator.action = frozen_array(AHEAD + 0.1)
    bench.ask(Edge.TAKEOVER)
    bench.tick(200)
    before = bench.policy.resets
    bench.ask(Edge.RELEASE)
    bench.tick(200)
    assert bench.phase is Phase.POLICY
    assert bench.policy.resets == before + 1
    assert bench.largest_step() <= STEP + 1e-12


def test_a_policy_that_comes_back_with_a_jump_is_refused() -> None:
    bench = Bench()
    bench.policy.action = frozen_array(np.full(JOINTS, 1.0))
    bench.ask(Edge.START_POLICY)
    bench.tick(5)
    assert bench.phase is Phase.HOLD
    assert "1.00 rad away" in bench.loop.faults[0]
    bench.ask(Edge.START_POLICY)
    bench.tick()
    assert bench.phase is Phase.HOLD, "nothing re-engages itself while a fault is latched"


def test_a_silent_policy_holds_and_then_disengages_with_a_sentence() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.policy.action = frozen_array(AHEAD * 2)
    bench.tick(5)
    bench.policy.action = None
    bench.tick(21)
    held = bench.tick()
    assert held.sent is not None
    still = bench.tick(10).sent
    assert still is not None
    assert (still == held.sent).all()
    assert bench.phase is Phase.POLICY
    assert not held.policy_valid
    bench.tick(100)
    assert bench.phase is Phase.HOLD
    assert bench.loop.faults[0].startswith("The policy has been silent for 0.5 s. The arm holds.")


def test_a_policy_gone_mad_never_moves_the_arm_and_is_recorded_as_refused() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.policy.action = frozen_array(np.full(JOINTS, np.nan))
    before = bench.arm.position.copy()
    row = bench.tick(10)
    assert (bench.arm.position == before).all()
    assert Clamp.NOT_FINITE in row.clamps
    assert bench.loop.clamps >= 10


def test_a_silent_arm_is_not_commanded_on_old_news() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.silent_arm = True
    bench.tick(150)
    assert bench.phase is Phase.HOLD
    assert "has not reported its state" in bench.loop.faults[0]


def test_stop_holds_at_once_and_only_a_rearm_leaves_it() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.policy.action = frozen_array(AHEAD * 2)
    moving = bench.tick(5).sent
    bench.ask(Edge.STOP)
    stopped = bench.tick()
    assert moving is not None
    assert stopped.sent is not None
    assert (stopped.sent == moving).all()
    assert SOURCES[stopped.phase] is ControlSource.STOPPED
    for edge in (Edge.TAKEOVER, Edge.START_POLICY, Edge.RELEASE):
        bench.ask(edge)
    bench.tick(50)
    assert bench.phase is Phase.STOPPED
    bench.ask(Edge.REARM)
    bench.tick()
    assert bench.phase is Phase.HOLD


def test_an_arm_that_refuses_a_command_latches_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.arm.broken = True
    with pytest.raises(DriverError, match="the cable is out"):
        bench.tick()
    bench.loop.fault("The arm did not take a command.", bench.now_ns)
    assert bench.phase is Phase.HOLD
    assert [kind for _, kind, _ in bench.events][-2:] == ["fault", "phase"]


def test_all_three_actions_of_a_tick_are_kept() -> None:
    bench = Bench()
    bench.start_policy(AHEAD)
    bench.operator.action = frozen_array(AHEAD + 0.3)
    bench.ask(Edge.TAKEOVER)
    row = bench.tick(120)
    values = row.values(JOINTS)
    assert SOURCES[row.phase] is ControlSource.OPERATOR
    assert values["policy_valid"]
    np.testing.assert_array_equal(values["policy_action"], AHEAD)
    np.testing.assert_array_equal(values["operator_action"], AHEAD + 0.3)
    assert values["sent"].max() <= 0.55


def test_a_request_that_is_not_possible_is_remembered_as_refused() -> None:
    bench = Bench()
    bench.ask(Edge.RELEASE)
    bench.tick()
    assert bench.events[-1][1] == "release_request"
    assert bench.events[-1][2]["refused"] == "not possible in hold"


def test_nothing_is_sent_while_the_arm_is_moved_from_outside_and_then_it_holds_where_it_is() -> None:
    bench = Bench()
    bench.tick(5)
    with bench.loop.standing_by():
        sent = len(bench.arm.commands)
        bench.arm.position = np.full(JOINTS, 0.7)
        assert bench.tick(5).sent is None
        assert len(bench.arm.commands) == sent
    held = bench.tick().sent
    assert held is not None
    np.testing.assert_array_equal(held, np.full(JOINTS, 0.7))
