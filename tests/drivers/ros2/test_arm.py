"""The ROS 2 arm over real DDS, against publishers and controllers outside of it."""

import json
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from drivers.clock import now_ns
from drivers.configs import Ros2ArmConfig
from drivers.errors import CommandRejectedError, DeviceConfigError, DriverError
from drivers.ros2 import arm as arm_module
from drivers.ros2.arm import Ros2Arm
from drivers.ros2.executor import RosRuntime
from drivers.samples import JointCommand, JointState, StampSource

pytestmark = [pytest.mark.ros2, pytest.mark.slow]

JOINTS = ("pan", "lift", "elbow", "w1", "w2", "w3")
SHUFFLED = ["elbow", "lift", "pan", "w1", "w2", "w3", "finger"]
NAN = float("nan")
STATES = {"topic": "/joint_states", "kind": "joint_state", "names": SHUFFLED}
FIRST_S = 8.0
"""The first message includes the start of the publisher's process and discovery."""

MakeArm = Callable[..., Ros2Arm]


@pytest.fixture
def make_arm() -> Iterator[MakeArm]:
    made: list[Ros2Arm] = []

    def make(wait_s: float = 5.0, **changes: object) -> Ros2Arm:
        settings: dict[str, object] = {"name": "arm", "joints": JOINTS, "wait_for_data": False}
        made.append(Ros2Arm(Ros2ArmConfig.model_validate(settings | changes), wait_s=wait_s))
        return made[-1]

    yield make
    for device in made:
        device.disconnect()


def take(arm: Ros2Arm, count: int) -> list[JointState]:
    """Read `count` samples, then make sure that no more come."""
    samples = []
    while len(samples) < count:
        sample = arm.read(FIRST_S)
        assert sample is not None, f"only {len(samples)} of {count} samples came"
        samples.append(sample)
    assert arm.read(0.2) is None, "more samples came than were sent"
    return samples


def connect_and_read(arm: Ros2Arm, timeout_s: float) -> None:
    """Connect and read until either raises."""
    arm.connect()
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        arm.read(0.05)


def joint_facts(arm: Ros2Arm) -> dict[str, object]:
    facts = json.loads(json.dumps(arm.facts(), allow_nan=False))
    return facts["joint_states"]


def test_every_message_exactly_once_in_order_with_its_own_time(make_arm, publish, record_property):
    arm = make_arm()
    arm.connect()
    latencies = []
    with publish(STATES | {"count": 300, "rate_hz": 200}):
        positions = []
        while len(positions) < 300:
            sample = arm.read(FIRST_S)
            assert sample is not None
            latencies.append((now_ns() - sample.stamp_ns) / 1e6)
            positions.append(sample.position[0])
            assert sample.stamp_source is StampSource.HEADER
            assert sample.stamp_ns <= sample.received_ns
    assert positions == list(range(300))
    assert arm.dropped() == 0
    p50, p99 = np.percentile(latencies, [50, 99])
    record_property("latency_ms_p50_p99", (round(p50, 2), round(p99, 2)))
    assert p50 < 50


def test_joints_are_mapped_by_name_and_incomplete_messages_counted(make_arm, publish):
    arm = make_arm()
    arm.connect()
    whole = STATES | {"positions": [3.0, 2.0, 1.0, 4.0, 5.0, 6.0, 0.04]}
    partial = {
        **STATES,
        "names": SHUFFLED[1:],
        "positions": [2.0, 1.0, 4.0, 5.0, 6.0, 0.04],
        "velocity": [NAN] * 6,
    }
    with publish(whole, partial) as foreign:
        samples = take(arm, 10)
        foreign.wait_for("ready")
        foreign.wait_for("done")
        assert arm.read(0.2) is None
    assert all(sample.position.tolist() == [1, 2, 3, 4, 5, 6] for sample in samples)
    assert np.isnan(samples[0].velocity).all()
    mapped = joint_facts(arm)["mapped"]
    assert (mapped["used"], mapped["incomplete"]) == (10, 10)
    assert arm.dropped() == 0


def test_messages_with_nan_are_rejected_and_count_as_lost(make_arm, publish):
    arm = make_arm()
    arm.connect()
    with publish(STATES | {"positions": [NAN] * 7}) as foreign:
        foreign.wait_for("ready")
        foreign.wait_for("done")
        assert arm.read(0.5) is None
    assert arm.dropped() == 10
    assert joint_facts(arm)["mapped"]["not_finite"] == 10


def test_without_stamps_the_receive_time_is_used_and_said(make_arm, publish):
    arm = make_arm()
    arm.connect()
    with publish(STATES | {"stamp": "zero"}):
        for sample in take(arm, 10):
            assert sample.stamp_source is StampSource.RECEIVE
            assert sample.stamp_ns == sample.received_ns
    assert arm.facts()["stamps"] == {"header": 0, "receive": 10}


def test_a_clock_an_hour_ahead_is_found_and_rows_still_pair(make_arm, publish):
    ahead, right = make_arm(joint_state_topic="/ahead"), make_arm(joint_state_topic="/right")
    ahead.connect()
    right.connect()
    with publish(
        STATES | {"topic": "/ahead", "stamp": 3600.0, "count": 100}, STATES | {"topic": "/right", "count": 100}
    ):
        pairs = zip(take(ahead, 100), take(right, 100), strict=True)
        gaps_ms = [abs(one.stamp_ns - other.stamp_ns) / 1e6 for one, other in pairs]
    assert np.median(gaps_ms) < 10
    facts = ahead.facts()
    assert facts["header_clock_corrected"] is True
    assert facts["header_clock_ahead_s"] == pytest.approx(3600, abs=0.5)
    assert right.facts()["header_clock_corrected"] is False


@pytest.mark.parametrize("wait_for_data", [True, False])
def test_a_best_effort_publisher_is_heard_whoever_comes_first(make_arm, publish, wait_for_data, poll):
    arm = make_arm(wait_for_data=wait_for_data)
    stream = STATES | {"qos": "best_effort", "count": 500, "rate_hz": 100}
    if not wait_for_data:
        arm.connect()
        assert joint_facts(arm)["subscribed"] == "reliable"
    with publish(stream | {"wait": False}) as foreign:
        foreign.wait_for("ready")
        arm.connect()
        poll(lambda: "best effort" in str(joint_facts(arm)["publishers"]))
        seen = time.monotonic()
        assert arm.read(2.0) is not None
        assert time.monotonic() - seen < 2.0
        assert joint_facts(arm)["subscribed"] == "best effort"


def test_it_turns_reliable_again_when_the_publisher_does(make_arm, publish):
    arm = make_arm()
    arm.connect()
    for qos in ("best_effort", "reliable"):
        with publish(STATES | {"qos": qos, "count": 50}):
            positions = [sample.position[0] for sample in take(arm, 50)]
            assert positions == list(range(50))
    facts = joint_facts(arm)
    assert facts["subscribed"] == "reliable"
    assert facts["resubscriptions"] == 2


def test_a_topic_of_another_type_is_named_with_both_types(make_arm, publish):
    arm = make_arm(wait_for_data=True)
    with publish({"topic": "/joint_states", "kind": "compressed", "count": 0, "wait": False}) as foreign:
        foreign.wait_for("ready")
        started = time.monotonic()
        with pytest.raises(DriverError, match=r"sensor_msgs/msg/JointState.*CompressedImage") as caught:
            arm.connect()
    assert "no usable" not in str(caught.value)
    assert time.monotonic() - started < 5.0


def test_another_type_that_appears_later_is_raised_by_read_and_in_facts(make_arm, publish):
    arm = make_arm()
    arm.connect()
    with publish({"topic": "/joint_states", "kind": "compressed", "count": 0, "wait": False}) as foreign:
        foreign.wait_for("ready")
        with pytest.raises(DriverError, match="carries another type"):
            connect_and_read(arm, 5.0)
        assert "CompressedImage" in joint_facts(arm)["problem"]


def test_silence_names_the_topic_and_that_nobody_publishes(make_arm):
    arm = make_arm(wait_s=0.5, wait_for_data=True)
    with pytest.raises(DriverError, match=r"/joint_states within 0.5 s \(no message; no publisher\)"):
        arm.connect()


def test_a_publisher_that_says_nothing_is_named_with_its_qos(make_arm, publish):
    arm = make_arm(wait_s=3.0, wait_for_data=True)
    with publish(STATES | {"count": 0, "wait": False}) as foreign:
        foreign.wait_for("ready")
        with pytest.raises(DriverError, match=r"no message; publisher /foreign \(.*JointState, reliable, volatile\)"):
            arm.connect()


@pytest.mark.parametrize("wait_for_data", [True, False])
def test_unknown_joints_are_listed_with_those_seen(make_arm, publish, wait_for_data):
    arm = make_arm(joints=("pan", "tilt"), wait_for_data=wait_for_data)
    with publish(STATES | {"count": 500, "wait": False}) as foreign:
        foreign.wait_for("ready")
        with pytest.raises(DriverError, match=r"lack tilt; joints seen: elbow, lift, pan"):
            connect_and_read(arm, FIRST_S)


def test_a_full_queue_drops_the_oldest_and_counts(make_arm, publish, monkeypatch):
    monkeypatch.setattr(arm_module, "SMALLEST_QUEUE", 10)
    arm = make_arm(rate_hz=1.0)
    arm.connect()
    with publish(STATES | {"count": 40}) as foreign:
        foreign.wait_for("ready")
        foreign.wait_for("done")
        positions = [sample.position[0] for sample in take(arm, 10)]
    assert positions == list(range(30, 40))
    assert arm.dropped() == 30


def test_a_passive_arm_refuses_commands_and_holds_by_doing_nothing(make_arm):
    arm = make_arm()
    arm.connect()
    arm.hold()
    with pytest.raises(CommandRejectedError, match="passive"):
        arm.command(JointCommand(0, np.zeros(6)))


class Controller:
    """What a ros2_control controller sees: every message on its command topic."""

    def __init__(self, command_type: str) -> None:
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        self.messages: list[object] = []
        self.runtime = RosRuntime("controller")
        self.runtime.start()
        message_class = JointTrajectory if command_type == "joint_trajectory" else Float64MultiArray
        node = self.runtime.node
        self.runtime.call(lambda: node.create_subscription(message_class, "/commands", self.messages.append, 10))


@pytest.fixture
def commanded(request, make_arm, publish) -> Iterator[tuple[Ros2Arm, Controller]]:
    controller = Controller(request.param)
    arm = make_arm(command_type=request.param, command_topic="/commands", wait_for_data=True, point_time_s=0.05)
    stream = STATES | {"count": 1, "positions": [3.0, 2.0, 1.0, 4.0, 5.0, 6.0, 0.04]}
    with publish(stream):
        arm.connect()
        yield arm, controller
        arm.disconnect()
    controller.runtime.stop()


both = pytest.mark.parametrize("commanded", ["joint_trajectory", "forward_command"], indirect=True)


@both
def test_commands_holds_and_the_last_hold_reach_the_controller(commanded, poll):
    arm, controller = commanded
    command = JointCommand(now_ns(), np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]))
    assert arm.command(command) is command
    arm.hold()
    arm.disconnect()
    poll(lambda: len(controller.messages) == 3)
    sent = [list(getattr(message, "data", None) or message.points[0].positions) for message in controller.messages]
    assert sent == [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]]
    first = controller.messages[0]
    if hasattr(first, "points"):
        assert list(first.joint_names) == list(JOINTS)
        assert len(first.points) == 1
        assert (first.header.stamp.sec, first.header.stamp.nanosec) == (0, 0)
        assert (first.points[0].time_from_start.sec, first.points[0].time_from_start.nanosec) == (0, 50_000_000)


@both
@pytest.mark.parametrize("position", [np.zeros(5), np.zeros(7), np.array([0, 0, NAN, 0, 0, 0.0]), np.zeros((1, 6))])
def test_a_command_that_is_not_valid_is_refused_and_not_sent(commanded, position):
    arm, _ = commanded
    with pytest.raises(CommandRejectedError, match=r"shape|not finite for elbow"):
        arm.command(JointCommand(0, position))
    assert arm.facts()["command"]["sent"] == 0


def test_a_command_that_nobody_would_hear_is_refused(make_arm):
    arm = make_arm(command_type="forward_command", command_topic="/commands")
    arm.connect()
    with pytest.raises(CommandRejectedError, match="no controller listens on /commands"):
        arm.command(JointCommand(0, np.zeros(6)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"command_type": "forward_command"}, "needs a command_topic"),
        ({"joints": ("pan", "pan", "lift")}, "named twice: pan"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(make_arm, changes, sentence):
    with pytest.raises(DeviceConfigError, match=sentence):
        make_arm(**changes).connect()
