"""A simulated tactile pad: the touch grid of one finger, sampled at the pad's own rate."""

from collections.abc import Mapping

import numpy as np

from drivers import clock
from drivers.configs import SimTactileConfig
from drivers.errors import DeviceConfigError, DriverError
from drivers.latest_slot import LatestSlot
from drivers.samples import StampSource, TactileSample
from drivers.sim import workcell as w
from drivers.sim import world_state as ws


class SimTactile:
    """One pad: force [N] of shape (4, 4, 3), rows along the finger, axes pressure and the two shears."""

    def __init__(self, config: SimTactileConfig, run_id: str) -> None:
        """Keep the configuration; `run_id` names the world's shared memory."""
        self._config, self._run_id = config, run_id
        self._pad = w.PADS.index(config.pad)
        self._period_ns = round(1e9 / config.rate_hz)
        self._states: LatestSlot | None = None
        self._sequence = self._dropped = self._due_ns = 0

    @property
    def name(self) -> str:
        """The device's name in the station file."""
        return self._config.name

    def connect(self) -> None:
        """Wait up to 10 s for the world.

        Raises:
            DriverError: there is no world, or it is slower than this pad.
        """
        self.disconnect()
        self._states = ws.attach_to_world(self.name, self._run_id)
        newest = self._states.read()
        world_hz = 0.0 if newest is None else 1 / ws.unpack(newest).period_s
        if self._config.rate_hz > world_hz * 1.001:
            self.disconnect()
            raise DeviceConfigError(
                f"{self.name}: rate_hz is {self._config.rate_hz:g}, but the simulated world runs at {world_hz:g} Hz, "
                "the rate_hz of its arm"
            )
        self._sequence, self._dropped = self._states.newest, 0
        self._due_ns = clock.now_ns()

    def disconnect(self) -> None:
        """Release the shared memory."""
        if self._states is not None:
            self._states.close()
        self._states = None

    def facts(self) -> Mapping[str, object]:
        """Return what is measured, for the episode's provenance."""
        return {
            "model": "MuJoCo touch_grid",
            "pad": self._config.pad,
            "rows": w.TOUCH_ROWS,
            "columns": w.TOUCH_COLUMNS,
            "axes": ["pressure", "shear_along", "shear_across"],
        }

    def dropped(self) -> int:
        """Return how many samples' times passed in states that were overwritten before they were read."""
        return self._dropped

    def read(self, timeout_s: float) -> TactileSample | None:
        """Return the first state at or after the next sample's time; None after `timeout_s` without one.

        Raises:
            DriverError: the pad is not connected, or the world has ended.
        """
        if self._states is None:
            raise DriverError(f"{self.name}: not connected")
        deadline_ns = clock.now_ns() + round(timeout_s * 1e9)
        while True:
            left_s = max(0.0, (deadline_ns - clock.now_ns()) / 1e9)
            state = ws.wait_for_state(self._states, self._sequence, self._due_ns, left_s)
            if state is None:
                ws.require_world(self.name, self._states)
                return None
            lost = state.sequence - self._sequence - 1
            self._sequence = state.sequence
            if state.stamp_ns >= self._due_ns:
                return self._sample(state, lost)

    def _sample(self, state: ws.WorldState, lost: int) -> TactileSample:
        """Make the sample, and set the next one's time on the grid."""
        passed = max(0, (state.stamp_ns - self._due_ns) // self._period_ns)
        if lost:
            self._dropped += passed
        self._due_ns += (passed + 1) * self._period_ns
        force = np.ascontiguousarray(np.moveaxis(state.snapshot.touch[self._pad], 0, -1), dtype=np.float32)
        force.setflags(write=False)
        return TactileSample(state.stamp_ns, clock.now_ns(), force, StampSource.DEVICE)
