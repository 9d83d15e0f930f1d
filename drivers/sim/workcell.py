"""The simulated workcell in numbers: an arm with the proportions of an SO-101, a block and a bin on a table.

Everything that must agree is written once here: the scene that MuJoCo simulates, the closed-form kinematics and the
scripted pick and place. The base frame is the arm's foot on the table: x forward, y left, z up, metres and radians.
"""

import math

JOINT_NAMES = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
JOINT_RANGES = (
    (-1.92, 1.92),
    (-1.745, 1.745),
    (-1.57, 1.57),
    (-1.658, 1.72),
    (-2.79, 2.79),
    (0.0, 1.6),
)
"""Lowest and highest angle of each joint [rad]. All zero: upper arm upright, forearm and hand straight forward,
fingers closed; positive turns left, leans down, and opens."""
HOME = (0.0, -0.5, 0.2, 1.45, 0.0, 0.5)
"""Where the arm stands after a reset [rad]."""

SHOULDER_FORWARD = 0.030
"""From the pan axis to the lift axis [m]."""
SHOULDER_HEIGHT = 0.118
"""Of the lift axis above the table [m]."""
UPPER_ARM = 0.116
"""From the lift axis to the elbow axis [m]."""
FOREARM = 0.135
"""From the elbow axis to the wrist axis [m]."""
WRIST_TO_HAND = 0.061
"""From the wrist's flex axis to the hand, along the roll axis [m]."""
HAND = 0.160
"""From the wrist's flex axis to the tool centre between the pads [m]."""

FINGER_HINGE = (0.012, 0.030)
"""The moving finger's axis in the hand: along the roll axis, and towards the opening side [m]."""
PAD_GAP = 0.015
"""From the roll axis to each pad's face when the pads are parallel [m]."""
GRIPPER_PARALLEL = 0.30
"""Gripper angle at which the pads are parallel, 2 PAD_GAP apart [rad]."""

BLOCK_SIZE = 0.030
"""Edge of the block [m]."""
BIN_CENTRE = (0.105, -0.182)
"""Of the bin on the table [m]."""
BIN_INNER = 0.110
"""Inner width of the square bin [m]."""
BIN_HEIGHT = 0.040
"""Of the bin's walls [m]."""
BLOCK_RADIUS = (0.165, 0.225)
"""Distance from the pan axis at which a reset may put the block [m]."""
BLOCK_BEARING = (-0.30, 0.75)
"""Direction, from straight ahead to the left, in which a reset may put the block [rad]."""
BLOCK_TURN = (-0.5, 0.5)
"""Angle between the block's side and the line from the pan axis after a reset [rad]."""

TOUCH_ROWS, TOUCH_COLUMNS, TOUCH_AXES = 4, 4, 3
"""Cells of a pad, along the finger and across it; axes are pressure, then the two shears in the pad's plane."""
PADS = ("fixed_finger", "moving_finger")
CAMERAS = ("front", "wrist")
OBJECTS = ("block", "bin")

POINTING_DOWN = math.pi / 2
"""Tool pitch of a hand that points straight at the table [rad]."""
