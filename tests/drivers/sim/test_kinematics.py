import math

import mujoco
import numpy as np
import pytest

from drivers.sim import workcell as w
from drivers.sim.kinematics import OutOfReachError, ToolPose, forward, inverse
from drivers.sim.scene import build_scene


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(build_scene(0.002))


def random_joints(count):
    random = np.random.default_rng(7)
    low, high = np.array(w.JOINT_RANGES).T
    return random.uniform(low, high, (count, 6))


def test_forward_agrees_with_mujoco(model):
    data = mujoco.MjData(model)
    for joints in random_joints(300):
        data.qpos[:6] = joints
        mujoco.mj_kinematics(model, data)
        tool = forward(joints)
        assert data.site("tool").xpos == pytest.approx([tool.x, tool.y, tool.z], abs=1e-9)
        along = data.site("tool").xmat.reshape(3, 3)[:, 0]
        level = math.atan2(-along[2], along[0] * math.cos(joints[0]) + along[1] * math.sin(joints[0]))
        assert math.remainder(level - tool.pitch, math.tau) == pytest.approx(0, abs=1e-9)


def test_inverse_undoes_forward():
    solved = 0
    for joints in random_joints(500):
        tool = forward(joints)
        try:
            again = inverse(tool)
        except OutOfReachError:
            continue
        found = forward(again)
        assert [found.x, found.y, found.z, found.pitch, found.roll] == pytest.approx(
            [tool.x, tool.y, tool.z, tool.pitch, tool.roll], abs=1e-9
        )
        solved += np.allclose(again, joints[:5], atol=1e-7)
    assert solved > 300, "most poses are reached by one set of angles only"


@pytest.mark.parametrize("radius", w.BLOCK_RADIUS)
@pytest.mark.parametrize("bearing", w.BLOCK_BEARING)
def test_wherever_a_reset_puts_the_block_the_hand_reaches_it_from_above(radius, bearing):
    pose = ToolPose(radius * math.cos(bearing), radius * math.sin(bearing), w.BLOCK_SIZE / 2, w.POINTING_DOWN, 0.3)
    assert forward(inverse(pose)).z == pytest.approx(w.BLOCK_SIZE / 2)


def test_out_of_reach_is_said_with_the_place():
    with pytest.raises(OutOfReachError, match=r"tool at \(0.500, 0.000, 0.100\) m .* out of the arm's reach"):
        inverse(ToolPose(0.5, 0.0, 0.1, w.POINTING_DOWN))
    with pytest.raises(OutOfReachError, match="needs shoulder_pan at"):
        inverse(ToolPose(-0.2, 0.01, 0.1, w.POINTING_DOWN))
