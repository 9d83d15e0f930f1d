"""The physics of the workcell, without clock or process: step, command, reset, read."""

import math

import mujoco
import numpy as np

from drivers.samples import FloatArray
from drivers.sim import workcell as w
from drivers.sim.scene import build_scene
from drivers.sim.world_state import Snapshot

MAX_STEP_S = 0.002
"""Longest physics step that keeps a grasp firm [s]."""


class Physics:
    """A workcell that advances by `period_s` at each `advance`."""

    def __init__(self, period_s: float) -> None:
        """Build the model with the fewest equal physics steps per period that are short enough."""
        self._steps = math.ceil(period_s / MAX_STEP_S - 1e-9)
        self._model = mujoco.MjModel.from_xml_string(build_scene(period_s / self._steps))
        self._data = mujoco.MjData(self._model)
        self._joints = len(w.JOINT_NAMES)
        self.reset(0)

    @property
    def step_s(self) -> float:
        """Length of a physics step [s]."""
        return float(self._model.opt.timestep)

    def reset(self, seed: int) -> None:
        """Put the arm at home and the block where `seed` says; everything is at rest."""
        random = np.random.default_rng(seed)
        radius, bearing = random.uniform(*w.BLOCK_RADIUS), random.uniform(*w.BLOCK_BEARING)
        yaw = bearing + random.uniform(*w.BLOCK_TURN)
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[: self._joints] = w.HOME
        block = (radius * math.cos(bearing), radius * math.sin(bearing), w.BLOCK_SIZE / 2)
        self._data.qpos[self._joints :] = (*block, math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))
        self.command(np.array(w.HOME))
        mujoco.mj_forward(self._model, self._data)

    def command(self, position: FloatArray) -> None:
        """Set the targets of the position actuators [rad], shape (6,)."""
        self._data.ctrl[:] = position

    def advance(self) -> None:
        """Simulate one period."""
        mujoco.mj_step(self._model, self._data, self._steps)

    def snapshot(self) -> Snapshot:
        """Copy the present state."""
        data, joints = self._data, self._joints
        touch = data.sensordata.reshape(len(w.PADS), w.TOUCH_AXES, w.TOUCH_ROWS, w.TOUCH_COLUMNS)
        return Snapshot(
            data.qpos[:joints].copy(),
            data.qvel[:joints].copy(),
            data.actuator_force.copy(),
            data.qpos.copy(),
            touch.copy(),
        )

    def tool_position(self) -> FloatArray:
        """Return where the point between the pads is, according to MuJoCo [m], shape (3,)."""
        return np.array(self._data.site("tool").xpos)
