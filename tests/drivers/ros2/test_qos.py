"""Which reliability to ask for, and how a problem is said, without ROS."""

import pytest

from drivers.ros2.qos import Publisher, describe, qos_problem, type_problem, wants_best_effort

JOINTS, IMAGES = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Image"
RELIABLE = Publisher("/arm", JOINTS, "reliable", "volatile")
BEST_EFFORT = Publisher("/gripper", JOINTS, "best_effort", "volatile")
OTHER = Publisher("/cam", IMAGES, "best_effort", "volatile")


@pytest.mark.parametrize(
    ("publishers", "expected"),
    [
        ((), False),
        ((RELIABLE,), False),
        ((BEST_EFFORT,), True),
        ((RELIABLE, BEST_EFFORT), True),
        ((RELIABLE, OTHER), False),
    ],
)
def test_reliable_unless_somebody_offers_best_effort(publishers, expected):
    assert wants_best_effort(publishers, JOINTS) is expected


def test_another_type_is_named_with_ours_and_with_who_publishes_it():
    assert type_problem("/x", JOINTS, ()) is None
    assert type_problem("/x", JOINTS, (OTHER, RELIABLE)) is None
    problem = type_problem("/x", JOINTS, (OTHER,))
    assert problem is not None
    for part in ("/x", JOINTS, IMAGES, "/cam"):
        assert part in problem


def test_a_mismatch_names_both_sides():
    problem = qos_problem("/x", "durability", "best effort", (RELIABLE,))
    assert problem == (
        "topic /x: incompatible durability between our best effort subscription and "
        "publisher /arm (sensor_msgs/msg/JointState, reliable, volatile)"
    )
    assert describe(()) == "no publisher"
