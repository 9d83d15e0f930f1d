"""Mapping JointState messages by name, without ROS."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from drivers.ros2.joint_messages import JointMapper

JOINTS = ("pan", "lift", "elbow", "w1", "w2", "w3")
SHUFFLED = ["elbow", "lift", "pan", "w1", "w2", "w3", "finger"]
NAN = float("nan")


@dataclass
class Message:
    name: list[str]
    position: list[float]
    velocity: list[float] = field(default_factory=list)
    effort: list[float] = field(default_factory=list)


@pytest.fixture
def mapper() -> JointMapper:
    return JointMapper(JOINTS)


def test_names_decide_and_extra_names_are_ignored(mapper):
    values = mapper.map(Message(SHUFFLED, [3, 2, 1, 4, 5, 6, 0.04], velocity=[0.3, 0.2, 0.1, 0.4, 0.5, 0.6, 9]))
    assert values.position.tolist() == [1, 2, 3, 4, 5, 6]
    assert values.velocity.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert np.isnan(values.effort).all()
    assert values.effort.shape == (6,)


def test_a_message_without_one_of_our_joints_gives_nothing_and_is_counted(mapper):
    without_elbow = Message(SHUFFLED[1:], [2, 1, 4, 5, 6, 0.04], velocity=[NAN] * 6)
    assert mapper.map(without_elbow) is None
    assert mapper.counts()["incomplete"] == 1
    assert mapper.missing_names() == ["elbow"]
    assert mapper.map(Message(SHUFFLED, [3, 2, 1, 4, 5, 6, 0.04])).position.tolist() == [1, 2, 3, 4, 5, 6]


def test_interleaved_publishers_with_other_orders_do_not_shift_indices(mapper):
    for _ in range(3):
        assert mapper.map(Message(["finger"], [0.5])) is None
        assert mapper.map(Message(list(reversed(JOINTS)), [6, 5, 4, 3, 2, 1])).position.tolist() == [1, 2, 3, 4, 5, 6]
        assert mapper.map(Message(list(JOINTS), [1, 2, 3, 4, 5, 6])).position.tolist() == [1, 2, 3, 4, 5, 6]
    assert mapper.counts() == {
        "used": 6, "incomplete": 3, "malformed": 0, "not_finite": 0, "odd_velocity_or_effort": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "count"),
    [
        (Message(list(JOINTS), [1, 2, NAN, 4, 5, 6]), "not_finite"),
        (Message(list(JOINTS), [1, 2, float("inf"), 4, 5, 6]), "not_finite"),
        (Message(list(JOINTS), [1, 2, 3, 4, 5]), "malformed"),
        (Message(list(JOINTS), []), "malformed"),
        (Message([*JOINTS, "pan"], [1, 2, 3, 4, 5, 6, 7]), "malformed"),
    ],
)
def test_values_that_cannot_be_trusted_are_rejected_and_counted(mapper, message, count):
    assert mapper.map(message) is None
    assert mapper.counts()[count] == 1
    assert mapper.rejected == 1


def test_a_nan_in_a_joint_that_is_not_ours_does_not_matter(mapper):
    assert mapper.map(Message([*JOINTS, "finger"], [1, 2, 3, 4, 5, 6, NAN])) is not None


def test_velocity_of_another_length_is_left_out_and_counted(mapper):
    values = mapper.map(Message(list(JOINTS), [1, 2, 3, 4, 5, 6], velocity=[1, 2]))
    assert np.isnan(values.velocity).all()
    assert mapper.counts()["odd_velocity_or_effort"] == 1


def test_the_arrays_are_read_only(mapper):
    values = mapper.map(Message(list(JOINTS), [1, 2, 3, 4, 5, 6]))
    with pytest.raises(ValueError, match="read-only"):
        values.position[0] = 0.0
