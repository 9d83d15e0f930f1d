"""Counts to radians and back, the seam of the encoder, and the files."""

import json
import math

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from drivers.errors import DeviceConfigError
from drivers.servo.calibration import (
    RAD_PER_COUNT,
    ArmCalibration,
    GripperCalibration,
    RevoluteCalibration,
    homing_offset,
    load_calibration,
    save_calibration,
    swept_range,
    unwrap,
)
from drivers.servo.feetech_table import STS3215
from drivers.servo.scale import JointScale


def scale_of(*joints):
    return JointScale(joints, STS3215.velocity_unit)


def angle_of(joint, count):
    return float(scale_of(joint).positions(np.array([count]))[0])


def test_readings_over_the_seam_go_on_evenly():
    unwrapped = unwrap([4080, 4090, 4095, 3, 15])
    assert unwrapped[-1] - unwrapped[0] == 31
    assert max(np.abs(np.diff(unwrapped))) <= 12


def test_a_sweep_over_the_seam_is_not_the_whole_turn():
    assert swept_range([*range(3900, 4096, 5), *range(0, 201, 5)]) == (3900, 4296)
    assert swept_range([*range(200, -1, -5), *range(4095, 3899, -5)]) == (3900, 4296)


def test_a_sweep_of_one_place_and_of_more_than_a_turn():
    assert swept_range([4095]) == (4095, 4095)
    assert swept_range([step % 4096 for step in range(0, 5000, 50)]) == (0, 4095)
    with pytest.raises(ValueError, match="at least one reading"):
        swept_range([])


@given(st.integers(0, 4095), st.integers(0, 4095))
def test_the_homing_offset_always_fits_and_homes_to_within_a_count(actual, wanted):
    offset = homing_offset(actual, STS3215, wanted)
    assert STS3215["homing_offset"].decode(STS3215["homing_offset"].encode(offset)) == offset
    assert abs((actual - offset - wanted + 2048) % 4096 - 2048) <= 1


def test_a_motor_parked_at_the_end_of_the_encoder_calibrates():
    assert homing_offset(4095, STS3215) == 2047
    assert homing_offset(0, STS3215) == -2047


def test_a_joint_whose_range_crosses_the_seam_has_continuous_angles():
    joint = RevoluteCalibration(servo_id=1, zero=4096, minimum=3900, maximum=4296)
    angles = [angle_of(joint, count) for count in (3900, 4095, 0, 200)]
    assert angles == pytest.approx([-196 * RAD_PER_COUNT, -RAD_PER_COUNT, 0, 200 * RAD_PER_COUNT])


def test_direction_turns_position_and_velocity():
    scale = scale_of(RevoluteCalibration(servo_id=1, direction=-1))
    assert scale.positions(np.array([2048 + 1024])) == pytest.approx([-math.pi / 2])
    assert scale.velocities(np.array([1024])) == pytest.approx([-math.pi / 2])


def test_grippers_of_leader_and_follower_agree_on_how_far_they_are_open():
    leader = scale_of(GripperCalibration(servo_id=6, closed=2000, open=3500))
    follower = scale_of(GripperCalibration(servo_id=6, closed=3400, open=2100))
    goals = [int(follower.goals(leader.positions(np.array([count])))[0][0]) for count in (2000, 3500, 2750)]
    assert goals == [3400, 2100, 2750]
    assert leader.positions(np.array([2000])) == pytest.approx([0.0])
    assert follower.velocities(np.array([-100]))[0] > 0


def test_goals_stay_within_the_range_and_say_so():
    scale = scale_of(RevoluteCalibration(servo_id=1, minimum=1024, maximum=3072))
    counts, angles = scale.goals(np.array([9.0]))
    assert counts.tolist() == [3072]
    assert angles == pytest.approx([math.pi / 2])
    assert [float(limit[0]) for limit in scale.limits] == pytest.approx([-math.pi / 2, math.pi / 2])


@given(st.integers(0, 4095), st.sampled_from([1, -1]), st.floats(0, 4095))
def test_a_count_that_became_an_angle_becomes_the_same_goal(count, direction, zero):
    scale = scale_of(RevoluteCalibration(servo_id=1, direction=direction, zero=zero))
    assert scale.goals(scale.positions(np.array([count])))[0].tolist() == [count]


CALIBRATION = ArmCalibration(
    arm_id="so101-blue",
    date="2026-11-30",
    residual=0.004,
    joints={
        "elbow": RevoluteCalibration(servo_id=3, homing_offset=-12, direction=-1, minimum=900, maximum=3100),
        "gripper": GripperCalibration(servo_id=6, closed=2000, open=3500),
    },
)


@pytest.mark.parametrize(("name", "parse"), [("arm.json", json.loads), ("arm.yaml", yaml.safe_load)])
def test_a_file_comes_back_as_it_was_written(tmp_path, name, parse):
    path = tmp_path / name
    save_calibration(CALIBRATION, path)
    save_calibration(CALIBRATION, path)
    assert parse(path.read_text())["joints"]["elbow"]["homing_offset"] == -12
    assert load_calibration(path) == CALIBRATION
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("joints: [", "cannot be read"),
        ("[]", "file: Input should be a valid dictionary"),
        ("{arm_id: a, date: 2026-13, joints: {}}", "date"),
        (
            '{"arm_id": "a", "date": "2026-11-30", "joints": {"elbow": {"kind": "revolute", "servo_id": 300}}}',
            "joints.elbow.revolute.servo_id: Input should be less than or equal to 252 (found 300)",
        ),
        (
            '{"arm_id": "a", "date": "2026-11-30", "joints": {"j": {"kind": "revolute", "servo_id": 3, "minimum": 9, '
            '"maximum": 9}}}',
            "the range 9 to 9 must rise by 1 to 4096 counts",
        ),
        (
            '{"arm_id": "a", "date": "2026-11-30", "joints": {"g": {"kind": "gripper", "servo_id": 6, "closed": 5, '
            '"open": 5}}}',
            "open 5 and closed 5 must differ",
        ),
    ],
)
def test_a_bad_file_is_explained(tmp_path, text, sentence):
    path = tmp_path / "arm.yaml"
    path.write_text(text)
    with pytest.raises(DeviceConfigError) as caught:
        load_calibration(path)
    assert str(path) in str(caught.value)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_explained(tmp_path):
    with pytest.raises(DeviceConfigError, match=r"gone\.yaml does not exist: calibrate the arm, or correct the path"):
        load_calibration(tmp_path / "gone.yaml")


def test_a_place_that_cannot_be_written_is_explained(tmp_path):
    with pytest.raises(DeviceConfigError, match="cannot be written: No such file"):
        save_calibration(CALIBRATION, tmp_path / "none" / "arm.yaml")
