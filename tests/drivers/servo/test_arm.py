"""Leader and follower against the emulated firmware."""

import logging
import math
import time

import numpy as np
import pytest

from drivers import clock
from drivers.emulators.faults import FaultKind
from drivers.errors import CommandRejectedError, DeviceConfigError
from drivers.polling import PollingReader
from drivers.samples import JointCommand
from drivers.servo.bus import BusError
from drivers.servo.calibration import ArmCalibration, GripperCalibration, RevoluteCalibration, save_calibration
from drivers.servo.feetech import ServoError
from drivers.servo.port import PortError
from tests.contracts.arm import ArmContract, next_state

JOINTS = ("pan", "lift", "elbow", "flex", "roll", "gripper")


class TestServoArm(ArmContract):
    @pytest.fixture
    def arm(self, make_arm):
        return make_arm("follower")

    @pytest.fixture
    def reachable(self):
        return np.array([0.1, -0.1, 0.2, 0.0, 0.15, 0.3])


def goals(line):
    return [servo.get("goal_position") for servo in line.emulator.servos]


def read_until_error(arm, timeout_s=5.0):
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        assert arm.read(0.1) is None


def torques(line):
    return [servo.get("torque_enable") for servo in line.emulator.servos]


def calibration(tmp_path, **changes):
    joints = {name: RevoluteCalibration(servo_id=index) for index, name in enumerate(JOINTS[:5], start=1)}
    joints["gripper"] = GripperCalibration(servo_id=6, closed=2000, open=3500)
    path = tmp_path / "arm.yaml"
    save_calibration(ArmCalibration(arm_id="blue", date="2026-11-30", joints=joints | changes), path)
    return path


def test_a_leader_is_passive_and_reports_where_the_hand_holds_it(line, make_arm):
    for servo in line.emulator.servos:
        servo.set("torque_enable", 1)
    line.emulator.follow(lambda time_s: [0.1, 0.2, 0.3, -0.1, -0.2, -0.3])
    arm = make_arm()
    arm.connect()
    assert torques(line) == [0] * 6
    next_state(arm)
    state = next_state(arm)
    assert state.position == pytest.approx([0.1, 0.2, 0.3, -0.1, -0.2, -0.3], abs=0.001)
    assert np.isnan(state.effort).all()
    with pytest.raises(CommandRejectedError, match="is a leader and takes no commands"):
        arm.command(JointCommand(clock.now_ns(), np.zeros(6)))


def test_velocity_is_that_of_the_hand(line, make_arm):
    start_s = clock.now_ns() / 1e9
    line.emulator.follow(lambda time_s: [0.5 * (time_s - start_s)] * 6)
    arm = make_arm()
    arm.connect()
    next_state(arm)
    assert next_state(arm).velocity == pytest.approx([0.5] * 6, abs=0.02)


def test_samples_come_at_the_rate_and_missed_deadlines_are_counted(make_arm):
    arm = make_arm()
    arm.connect()
    stamps = [next_state(arm).stamp_ns for _ in range(60)]
    periods = np.round(np.diff(stamps) / 5e6)
    assert 60 + arm.dropped() >= round((stamps[-1] - stamps[0]) / 5e6)
    assert periods.min() >= 0


def test_a_follower_takes_its_place_before_it_takes_torque(line, make_arm):
    line.place(1000, 1500, 2000, 2500, 3000, 3500)
    arm = make_arm("follower")
    arm.connect()
    assert torques(line) == [1] * 6
    positions = [round(servo.actual) for servo in line.emulator.servos]
    assert positions == [1000, 1500, 2000, 2500, 3000, 3500]
    assert [servo.get("goal_position") for servo in line.emulator.servos] == positions


def test_a_follower_holds_after_disconnect(line, make_arm):
    arm = make_arm("follower")
    arm.connect()
    arm.command(JointCommand(clock.now_ns(), np.full(6, 1.0)))
    far = round(2048 + 1.0 / (2 * math.pi) * 4096)
    line.wait_for(lambda: goals(line) == [far] * 6)
    arm.disconnect()
    line.wait_for(lambda: max(goals(line)) < far)  # it stopped on the way
    assert torques(line) == [1] * 6


def test_commands_are_limited_to_the_calibrated_range_and_counted(line, make_arm, tmp_path):
    arm = make_arm("follower", calibration(tmp_path, pan=RevoluteCalibration(servo_id=1, minimum=1000, maximum=3000)))
    line.place(2048, 2048, 2048, 2048, 2048, 2500)
    arm.connect()
    sent = arm.command(JointCommand(clock.now_ns(), np.array([3.0, 0, 0, 0, 0, 0.5])))
    assert sent.position[0] == pytest.approx((3000 - 2048) * 2 * math.pi / 4096)
    assert sent.position[0] == pytest.approx(arm.limits[1][0])
    line.wait_for(lambda: goals(line)[0] == 3000)
    assert arm.facts()["transfers"]["clamped"] == 1


def test_one_reply_in_fifty_lost_leaves_true_values_only(line, make_arm):
    line.place(100, 200, 300, 400, 500, 600)
    arm = make_arm()
    arm.connect()
    line.inject(FaultKind.LOST, remaining=None, every=50)
    states = [next_state(arm) for _ in range(100)]
    for state in states:
        assert state.position == pytest.approx((np.arange(1, 7) * 100 - 2048) * 2 * math.pi / 4096)
    assert arm.facts()["transfers"]["lost"] >= 10
    stamps = np.array([state.stamp_ns for state in states])
    assert (np.diff(stamps) > 0).all()
    assert len(states) + arm.dropped() >= round((stamps[-1] - stamps[0]) / 5e6)


def test_a_joint_that_stays_silent_gives_gaps_then_an_error_never_a_value(line, make_arm):
    arm = make_arm()
    arm.connect()
    next_state(arm)
    line.inject(FaultKind.LOST, remaining=None, source=3)
    assert arm.read(0.05) is None
    assert arm.dropped() > 0
    with pytest.raises(
        BusError, match=r"arm on .*: no whole sample for \d\.\d s, no valid reply from .*elbow \(id 3\)"
    ):
        read_until_error(arm)
    line.server.faults.clear()
    reader = PollingReader(arm.name, arm.read)
    reader.start()
    line.wait_for(lambda: reader.count > 0)
    reader.stop()


def test_missing_and_wrong_servos_are_listed_before_any_torque(line, make_arm):
    line.emulator.servos.pop()
    line.emulator.servo(2).set("model_number", 1284)
    line.emulator.servo(5).set("id", 9)
    arm = make_arm("follower")
    with pytest.raises(DeviceConfigError) as caught:
        arm.connect()
    sentence = str(caught.value)
    assert "expected STS3215 (model 777) or STS3250 (model 2825) at ids 1, 2, 3, 4, 5, 6" in sentence
    assert "found 1 (model 777), 2 (model 1284), 3 (model 777), 4 (model 777), 9 (model 777)" in sentence
    assert "missing roll (id 5), gripper (id 6); wrong lift (id 2) is model 1284" in sentence
    assert torques(line) == [0] * 5


def test_a_bus_without_power_is_explained(line, make_arm):
    line.emulator.servos.clear()
    with pytest.raises(DeviceConfigError, match="found no servo: missing pan"):
        make_arm().connect()


def test_a_changed_homing_offset_is_reported_before_torque(line, make_arm, tmp_path):
    line.emulator.servo(3).set("homing_offset", -85)
    arm = make_arm("follower", calibration(tmp_path))
    with pytest.raises(
        DeviceConfigError, match=r"since calibration blue of 2026-11-30: elbow \(id 3\) holds homing offset -85, .* 0"
    ):
        arm.connect()
    assert torques(line) == [0] * 6


def test_a_calibration_of_another_arm_is_refused(make_arm, tmp_path):
    arm = make_arm("leader", calibration(tmp_path), {"pan": 1, "lift": 2})
    with pytest.raises(DeviceConfigError, match="calibration blue is for joints"):
        arm.connect()


def test_two_joints_with_one_id_are_refused(make_arm):
    with pytest.raises(DeviceConfigError, match="every joint needs an id of its own"):
        make_arm("leader", None, {"pan": 1, "lift": 1}).connect()


def test_a_follower_that_cannot_be_driven_says_why(line, make_arm, tmp_path):
    line.emulator.servo(1).set("mode", 1)
    line.emulator.servo(2).latch(ServoError.OVERLOAD)
    over_the_seam = RevoluteCalibration(servo_id=4, minimum=3900, maximum=4296)
    arm = make_arm("follower", calibration(tmp_path, flex=over_the_seam))
    with pytest.raises(DeviceConfigError) as caught:
        arm.connect()
    for part in (
        "pan (id 1) is in mode 1",
        "lift (id 2) has a latched overload",
        "flex (id 4) has the range 3900 to 4296",
    ):
        assert part in str(caught.value)
    assert torques(line) == [0] * 6


def test_one_latched_motor_never_keeps_the_others_from_being_released(line, make_arm):
    arm = make_arm("follower")
    arm.connect()
    line.emulator.servo(3).latch(ServoError.OVERLOAD)
    assert arm.release() == ()
    assert torques(line) == [0] * 6


def test_one_dead_motor_never_keeps_the_others_from_being_released(line, make_arm, caplog):
    arm = make_arm("follower")
    arm.connect()
    del line.emulator.servos[2]
    assert arm.release() == ("elbow",)
    assert torques(line) == [0] * 5
    assert "elbow is not released" in caplog.text


def test_a_dead_motor_does_not_keep_the_others_from_holding(line, make_arm, caplog):
    arm = make_arm("follower")
    arm.connect()
    arm.command(JointCommand(clock.now_ns(), np.full(6, 1.5)))
    line.inject(FaultKind.LOST, remaining=None, source=3)
    arm.hold()
    far = round(2048 + 1.5 / (2 * math.pi) * 4096)
    line.wait_for(lambda: all(goal < far for index, goal in enumerate(goals(line)) if index != 2))
    assert goals(line)[2] == far
    assert "elbow did not answer and holds its last goal" in caplog.text


def test_error_bits_are_shown_while_samples_go_on(line, make_arm, caplog):
    arm = make_arm()
    arm.connect()
    next_state(arm)
    line.emulator.servo(6).latch(ServoError.OVERLOAD)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            next_state(arm)
    assert arm.servo_errors == {"gripper": "overload"}
    assert [record.message.endswith("gripper reports overload") for record in caplog.records] == [True]


def test_facts_name_what_was_found_and_how_it_is_calibrated(make_arm, tmp_path):
    arm = make_arm()
    arm.connect()
    facts = arm.facts()
    assert facts["calibration"] == "default: count 2048 is 0 rad"
    assert facts["servos"]["elbow"]["model_number"] == 777
    arm.disconnect()
    arm = make_arm("leader", calibration(tmp_path))
    arm.connect()
    assert (arm.facts()["calibration"], arm.facts()["calibration_date"]) == ("blue", "2026-11-30")


def test_an_unplugged_arm_says_so_and_still_disconnects(line, make_arm, caplog):
    arm = make_arm("follower")
    arm.connect()
    line.server.stop()
    with pytest.raises(PortError, match="unplugged"):
        arm.read(0.1)
    arm.disconnect()
    arm.disconnect()
    assert "unplugged" in caplog.text


def test_a_failed_connect_leaves_the_port_free(line, make_arm):
    dead = line.emulator.servos.pop()
    first = make_arm()
    with pytest.raises(DeviceConfigError):
        first.connect()
    line.emulator.servos.append(dead)
    make_arm().connect()
