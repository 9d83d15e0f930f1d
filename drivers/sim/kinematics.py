"""Closed-form kinematics of the five-joint arm; lengths and conventions are those of `drivers.sim.workcell`.

The lift, elbow and wrist axes are parallel, so beyond the pan angle the arm is a planar chain of two links and the
hand: the wrist is found from the tool and its pitch, the two links by the law of cosines, elbow up.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from drivers.errors import DriverError
from drivers.samples import FloatArray
from drivers.sim import workcell as w


class OutOfReachError(DriverError):
    """No joint angles within their ranges put the tool there."""


@dataclass(frozen=True, slots=True)
class ToolPose:
    """Where the point between the pads is and how the hand is turned."""

    x: float
    """Forward of the base [m]."""
    y: float
    """Left of the base [m]."""
    z: float
    """Above the table [m]."""
    pitch: float
    """Of the hand below the horizon: 0 is level, pi/2 straight down [rad]."""
    roll: float = 0.0
    """About the hand's own axis, 0 with the fingers closing sideways [rad]."""


def forward(joint_position: ArrayLike) -> ToolPose:
    """Return the tool pose of joint angles [rad], shape (5,) or (6,); the gripper does not matter."""
    pan, lift, elbow, wrist, roll = (float(angle) for angle in np.asarray(joint_position, dtype=np.float64)[:5])
    below, pitch = lift + elbow, lift + elbow + wrist
    radius = w.SHOULDER_FORWARD + w.UPPER_ARM * math.sin(lift) + w.FOREARM * math.cos(below) + w.HAND * math.cos(pitch)
    height = w.SHOULDER_HEIGHT + w.UPPER_ARM * math.cos(lift) - w.FOREARM * math.sin(below) - w.HAND * math.sin(pitch)
    return ToolPose(radius * math.cos(pan), radius * math.sin(pan), height, pitch, roll)


def inverse(pose: ToolPose) -> FloatArray:
    """Return the joint angles that put the tool at `pose`, elbow up.

    Returns:
        Angles of the five joints [rad], shape (5,).

    Raises:
        OutOfReachError: the pose is too far or too near, or a joint would leave its range.
    """
    radius = math.hypot(pose.x, pose.y) - w.SHOULDER_FORWARD - w.HAND * math.cos(pose.pitch)
    height = pose.z - w.SHOULDER_HEIGHT + w.HAND * math.sin(pose.pitch)
    cosine = (radius**2 + height**2 - w.UPPER_ARM**2 - w.FOREARM**2) / (2 * w.UPPER_ARM * w.FOREARM)
    if abs(cosine) > 1:
        raise OutOfReachError(f"{_say(pose)} is out of the arm's reach")
    bend = math.acos(cosine)
    inner = math.atan2(w.FOREARM * math.sin(bend), w.UPPER_ARM + w.FOREARM * cosine)
    lift = math.pi / 2 - math.atan2(height, radius) - inner
    elbow = bend - math.pi / 2
    angles = (math.atan2(pose.y, pose.x), lift, elbow, pose.pitch - lift - elbow, pose.roll)
    for name, angle, (low, high) in zip(w.JOINT_NAMES, angles, w.JOINT_RANGES, strict=False):
        if not low <= angle <= high:
            raise OutOfReachError(f"{_say(pose)} needs {name} at {angle:.2f} rad, allowed {low} to {high}")
    return np.array(angles)


def _say(pose: ToolPose) -> str:
    return f"tool at ({pose.x:.3f}, {pose.y:.3f}, {pose.z:.3f}) m with pitch {pose.pitch:.2f} rad"
