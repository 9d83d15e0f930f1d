"""The simulated arm: an `Arm` and a `Scene`, and the owner of the world's process."""

import importlib.metadata
import logging
import threading
from collections.abc import Mapping

import numpy as np

from drivers import clock
from drivers.configs import SimArmConfig
from drivers.errors import CommandRejectedError, DriverError
from drivers.latest_slot import LatestSlot
from drivers.samples import FloatArray, JointCommand, JointState, StampSource, frozen_array
from drivers.sim import workcell as w
from drivers.sim import world_state as ws
from drivers.sim.world_handle import WorldHandle

log = logging.getLogger(__name__)

_RESET_LIMIT_S = 2.0
_LOW, _HIGH = np.array(w.JOINT_RANGES).T
_GRIPPER = w.JOINT_NAMES.index("gripper")


class SimArm:
    """Five joints and a gripper in a MuJoCo world; `connect` starts the world, `disconnect` ends it."""

    def __init__(self, config: SimArmConfig, run_id: str) -> None:
        """Keep the configuration; `run_id` names the world's shared memory."""
        self._config, self._run_id = config, run_id
        self._lock = threading.Lock()
        self._world: WorldHandle | None = None
        self._states: LatestSlot | None = None
        self._commands: LatestSlot | None = None
        self._resets: LatestSlot | None = None
        self._target = frozen_array(w.HOME)
        self._sequence = self._dropped = self._clamped = self._last_stamp_ns = 0

    @property
    def name(self) -> str:
        """The device's name in the station file."""
        return self._config.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names in the order of every array."""
        return w.JOINT_NAMES

    @property
    def clamped(self) -> int:
        """Commands since `connect` of which a joint was brought back into its range."""
        return self._clamped

    def missed_time_s(self) -> float:
        """Return the time that the world could not simulate and skipped, since `connect` [s]."""
        return self._newest().missed_s

    def world_pid(self) -> int | None:
        """Return the id of the world's process, None while there is none."""
        return None if self._world is None else self._world.pid

    def connect(self) -> None:
        """Start the world and wait until it simulates; at most about 10 s."""
        self.disconnect()
        self._target = frozen_array(w.HOME)
        self._dropped = self._clamped = 0
        try:
            self._commands = LatestSlot.create(ws.command_slot(self._run_id), ws.COMMAND_BYTES)
            self._resets = LatestSlot.create(ws.reset_slot(self._run_id), ws.RESET_BYTES)
            self._world = WorldHandle(self.name, self._run_id, self._config.rate_hz)
            self._world.wait_ready()
            self._states = ws.attach_to_world(self.name, self._run_id)
        except DriverError:
            self.disconnect()
            raise
        self._sequence = self._states.newest

    def disconnect(self) -> None:
        """End the world's process and remove its shared memory."""
        with self._lock:
            if self._world is not None:
                self._world.end()
            owned = [slot for slot in (self._commands, self._resets, self._states) if slot is not None]
            for slot in owned:
                slot.close()
            if owned:
                ws.remove_slots(self._run_id)
            self._world = self._commands = self._resets = self._states = None

    def facts(self) -> Mapping[str, object]:
        """Return model, versions and the time that was not simulated, for the episode's provenance."""
        return {
            "model": "simulated workcell, arm with SO-101 proportions",
            "mujoco": importlib.metadata.version("mujoco"),
            "rate_hz": self._config.rate_hz,
            "missed_time_s": 0.0 if self._states is None else self.missed_time_s(),
        }

    def dropped(self) -> int:
        """Return how many states were overwritten before they were read."""
        return self._dropped

    def read(self, timeout_s: float) -> JointState | None:
        """Return the next state, each exactly once and in order; None after `timeout_s` without one.

        Raises:
            DriverError: the arm is not connected, or the world has ended.
        """
        slot = self._connected(self._states)
        due_ns = self._last_stamp_ns + round(1e9 / self._config.rate_hz) + 100_000
        state = ws.wait_for_state(slot, self._sequence, due_ns, timeout_s)
        if state is None:
            ws.require_world(self.name, slot)
            return None
        self._dropped += state.sequence - self._sequence - 1
        self._sequence, self._last_stamp_ns = state.sequence, state.stamp_ns
        seen = state.snapshot
        return JointState(state.stamp_ns, clock.now_ns(), seen.position, seen.velocity, seen.effort, StampSource.DEVICE)

    def command(self, command: JointCommand) -> JointCommand:
        """Send joint targets; return them as sent, within the joints' ranges.

        Raises:
            CommandRejectedError: not six finite numbers; nothing was sent.
        """
        position = np.asarray(command.position, dtype=np.float64)
        if position.shape != _LOW.shape:
            raise CommandRejectedError(f"{self.name}: a command has {len(_LOW)} joints, not shape {position.shape}")
        if not np.isfinite(position).all():
            bad = ", ".join(name for name, value in zip(w.JOINT_NAMES, position, strict=True) if not np.isfinite(value))
            raise CommandRejectedError(f"{self.name}: the command for {bad} is not a finite number")
        sent = frozen_array(np.clip(position, _LOW, _HIGH))
        with self._lock:
            self._connected(self._commands).write(command.stamp_ns, sent.tobytes())
            self._clamped += not np.array_equal(sent, position)
            self._target = sent
        return JointCommand(command.stamp_ns, sent)

    def hold(self) -> None:
        """Stop the joints where they are measured; the gripper keeps its target, so that it drops nothing."""
        position = self._newest().snapshot.position.copy()
        position[_GRIPPER] = self._target[_GRIPPER]
        self.command(JointCommand(clock.now_ns(), position))

    def reset_scene(self, seed: int) -> None:
        """Put the arm at home and the block where `seed` says; return once the world has done it.

        Raises:
            DriverError: the seed is negative or above 2**63 - 1, or the world does not answer within 2 s.
        """
        if not 0 <= seed < 2**63:
            raise DriverError(f"{self.name}: scene seed {seed} must be from 0 to {2**63 - 1}")
        with self._lock:
            number = self._connected(self._resets).write(clock.now_ns(), seed.to_bytes(ws.RESET_BYTES, "little"))
            self._target = frozen_array(w.HOME)
        deadline_ns = clock.now_ns() + round(_RESET_LIMIT_S * 1e9)
        while self._newest().resets < number:
            if clock.now_ns() > deadline_ns:
                raise DriverError(f"{self.name}: the simulated world did not reset within {_RESET_LIMIT_S:.0f} s")
            clock.sleep_until_ns(clock.now_ns() + 1_000_000)

    def object_positions(self) -> Mapping[str, FloatArray]:
        """Return object name -> centre in the base frame [m], shape (3,)."""
        return self._newest().snapshot.objects()

    def _newest(self) -> ws.WorldState:
        value = self._connected(self._states).read()
        if value is None:
            raise DriverError(f"{self.name}: the simulated world has published nothing")
        return ws.unpack(value)

    def _connected(self, slot: LatestSlot | None) -> LatestSlot:
        if slot is None:
            raise DriverError(f"{self.name}: not connected")
        return slot
