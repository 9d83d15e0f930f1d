"""A script that puts the block into the bin: a state machine driven by what it sees, so it can start anywhere."""

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

import numpy as np

from drivers.samples import FloatArray
from drivers.sim import workcell as w
from drivers.sim.kinematics import OutOfReachError, ToolPose, forward, inverse
from drivers.sim.motion import SmoothMove

_SPEED = 1.5
_OPEN, _CLOSED = 0.55, 0.0
_HOVER_Z, _GRASP_Z, _BIN_Z = 0.090, 0.017, 0.105
_SIDE_STEP = 0.008
"""The fingers open to one side only, so the tool goes down this far beside the block's centre [m]."""
_PITCHES = (w.POINTING_DOWN, 1.40, 1.20, 1.00, 0.80, 0.50)
"""Tried in this order: straight down where possible, leaning out for what is far."""
_LIFTED_Z = w.BLOCK_SIZE / 2 + 0.020
_IN_HAND = 0.030
_GRIP_WINDOW = 0.18
"""A gripper this near to parallel is stopped by something of the block's size, flat or by its edges [rad]."""
_GAP_S = 0.25
"""After this long without a call the plan is made anew [s]."""
_LAG, _DISPLACED = 0.12, 0.30
"""The script waits for an arm this far behind, and starts over for one that somebody else has moved [rad]."""


class Phase(StrEnum):
    """What the script is doing."""

    APPROACH = "approach"
    DESCEND = "descend"
    GRASP = "grasp"
    LIFT = "lift"
    CARRY = "carry"
    RELEASE = "release"
    RETREAT = "retreat"
    DONE = "done"


_DWELL_S = {Phase.GRASP: 0.25, Phase.RELEASE: 0.15}
_NEXT = {
    Phase.APPROACH: Phase.DESCEND,
    Phase.DESCEND: Phase.GRASP,
    Phase.GRASP: Phase.LIFT,
    Phase.LIFT: Phase.CARRY,
    Phase.CARRY: Phase.RELEASE,
    Phase.RELEASE: Phase.RETREAT,
    Phase.RETREAT: Phase.DONE,
    Phase.DONE: Phase.DONE,
}


def block_in_bin(objects: Mapping[str, FloatArray]) -> bool:
    """Whether the block lies in the bin; `objects` as from `Scene.object_positions` [m]."""
    x, y, z = objects["block"] - objects["bin"]
    return bool(max(abs(x), abs(y)) < w.BIN_INNER / 2 and z < w.BIN_HEIGHT)


def block_lifted(objects: Mapping[str, FloatArray]) -> bool:
    """Whether the block is well above the table and not in the bin."""
    return bool(objects["block"][2] > _LIFTED_Z and not block_in_bin(objects))


class PickAndPlace:
    """The script. Give it every state of the arm; it answers with joint targets."""

    def __init__(self, aim_offset_m: tuple[float, float] = (0.0, 0.0)) -> None:
        """Aim beside the block by `aim_offset_m`, (x, y) in the base frame [m]; 4 cm is a sure miss."""
        self._aim_offset = aim_offset_m
        self.reset()

    def reset(self) -> None:
        """Forget everything; the next call starts from what it sees."""
        self._phase = Phase.APPROACH
        self._moves: list[FloatArray] = []
        self._move: SmoothMove | None = None
        self._target = np.array(w.HOME)
        self._aim = (0.0, 0.0)
        self._last_ns: int | None = None

    @property
    def phase(self) -> Phase:
        """What the script is doing."""
        return self._phase

    def target(self, now_ns: int, joint_position: FloatArray, objects: Mapping[str, FloatArray]) -> FloatArray:
        """Return the joint targets for now.

        Args:
            now_ns: Monotonic clock [ns].
            joint_position: The arm's measured joints [rad], shape (6,).
            objects: Object name -> centre in the base frame [m], shape (3,); "block" and "bin" are used.

        Returns:
            Joint targets [rad], shape (6,), moving at no more than about 1.5 rad/s.
        """
        step_s = 0.0 if self._last_ns is None else (now_ns - self._last_ns) / 1e9
        lag = float(np.max(np.abs(self._target[:5] - joint_position[:5])))
        if self._last_ns is None or not 0 <= step_s <= _GAP_S or lag > _DISPLACED:
            self._restart(joint_position, objects)
            step_s = 0.0
        self._last_ns = now_ns
        self._follow_events(joint_position, objects)
        if self._move is not None:
            self._target = self._move.advance(step_s if lag < _LAG else 0.0)
        return self._target.copy()

    def _restart(self, joint_position: FloatArray, objects: Mapping[str, FloatArray]) -> None:
        """Choose the phase from what is seen, and start from where the arm is."""
        self._target = np.clip(joint_position, *np.array(w.JOINT_RANGES).T)
        if _in_hand(joint_position, objects):
            self._target[5] = _CLOSED
            self._enter(Phase.CARRY if block_lifted(objects) else Phase.GRASP, objects)
        else:
            self._enter(Phase.RETREAT if block_in_bin(objects) else Phase.APPROACH, objects)

    def _follow_events(self, joint_position: FloatArray, objects: Mapping[str, FloatArray]) -> None:
        """Go to the next waypoint or phase once the present move is over."""
        if self._move is not None and self._move.overtime_s < _DWELL_S.get(self._phase, 0.08):
            return
        if self._moves:
            self._start_move()
            return
        following = self._judge(joint_position, objects)
        if following != self._phase or following != Phase.DONE:
            self._enter(following, objects)

    def _judge(self, joint_position: FloatArray, objects: Mapping[str, FloatArray]) -> Phase:
        """Return the phase after this one, or approach again if the world is not as it should be by now."""
        match self._phase:
            case Phase.APPROACH:
                moved = math.dist(self._aim, objects["block"][:2]) > 0.01
                return Phase.APPROACH if moved else Phase.DESCEND
            case Phase.LIFT | Phase.CARRY:
                as_expected = block_lifted(objects) and _in_hand(joint_position, objects)
            case Phase.RETREAT | Phase.DONE:
                as_expected = block_in_bin(objects)
            case _:
                as_expected = True
        return _NEXT[self._phase] if as_expected else Phase.APPROACH

    def _enter(self, phase: Phase, objects: Mapping[str, FloatArray]) -> None:
        self._phase = phase
        self._moves = self._waypoints(phase, objects)
        self._move = None
        if self._moves:
            self._start_move()

    def _start_move(self) -> None:
        self._move = SmoothMove(self._target.copy(), self._moves.pop(0), _SPEED)

    def _waypoints(self, phase: Phase, objects: Mapping[str, FloatArray]) -> list[FloatArray]:
        """Return the joint positions to pass in this phase [rad], each of shape (6,)."""
        match phase:
            case Phase.APPROACH:
                self._aim = (float(objects["block"][0]), float(objects["block"][1]))
                return [*self._clear_of_table(_OPEN), self._over_block(_HOVER_Z)]
            case Phase.DESCEND:
                return [self._over_block(_GRASP_Z)]
            case Phase.GRASP | Phase.RELEASE:
                return [np.append(self._target[:5], _CLOSED if phase is Phase.GRASP else _OPEN)]
            case Phase.LIFT:
                return self._clear_of_table(_CLOSED)
            case Phase.CARRY:
                x, y = (float(value) for value in objects["bin"][:2])
                return [*self._clear_of_table(_CLOSED), _reach(ToolPose(x, y, _BIN_Z, w.POINTING_DOWN), _CLOSED)]
            case Phase.RETREAT:
                return [np.array(w.HOME)]
            case Phase.DONE:
                return []

    def _clear_of_table(self, gripper: float) -> list[FloatArray]:
        """Return the way straight up, if the tool is low."""
        tool = forward(self._target)
        if tool.z > _HOVER_Z - 0.02:
            return []
        return [_reach(replace(tool, z=_HOVER_Z), gripper)]

    def _over_block(self, height: float) -> FloatArray:
        """Return joints with the tool beside the aimed point, so that the opening's middle is over it.

        The fingers close across the aim error: they pass beside the block instead of landing on it.
        """
        x, y = self._aim[0] + self._aim_offset[0], self._aim[1] + self._aim_offset[1]
        bearing = math.atan2(y, x)
        roll = 0.0
        if any(self._aim_offset):
            roll = bearing - math.atan2(self._aim_offset[1], self._aim_offset[0])
            roll = (roll + math.pi / 2) % math.pi - math.pi / 2
        closing = bearing + math.pi / 2 - roll
        x, y = x - _SIDE_STEP * math.cos(closing), y - _SIDE_STEP * math.sin(closing)
        return _reach(ToolPose(x, y, height, w.POINTING_DOWN, roll), _OPEN)


def _in_hand(joint_position: FloatArray, objects: Mapping[str, FloatArray]) -> bool:
    """Whether the block is between the pads and the gripper is as far closed as the block allows."""
    tool = forward(joint_position)
    near = math.dist((tool.x, tool.y, tool.z), objects["block"]) < _IN_HAND
    return near and abs(float(joint_position[5]) - w.GRIPPER_PARALLEL) < _GRIP_WINDOW


def _reach(tool: ToolPose, gripper: float) -> FloatArray:
    """Return joints for the steepest hand that gets to `tool`, or home for what no hand reaches [rad], shape (6,)."""
    for pitch in _PITCHES:
        try:
            return np.append(inverse(replace(tool, pitch=pitch)), gripper)
        except OutOfReachError:
            continue
    return np.append(w.HOME[:5], gripper)
