"""A simulated camera: draws the world's newest state in the process that reads it, on absolute deadlines."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from drivers import clock
from drivers.configs import SimCameraConfig
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot
from drivers.samples import Image, ImageEncoding, StampSource
from drivers.sim import world_state as ws
from drivers.sim.gl_backend import choose_gl_backend

if TYPE_CHECKING:
    from drivers.sim.renderer import SceneRenderer


class SimCamera:
    """One camera of the workcell."""

    def __init__(self, config: SimCameraConfig, run_id: str) -> None:
        """Keep the configuration; `run_id` names the world's shared memory."""
        self._config, self._run_id = config, run_id
        self._period_ns = round(1e9 / config.rate_hz)
        self._states: LatestSlot | None = None
        self._renderer: SceneRenderer | None = None
        self._backend = ""
        self._due_ns = self._shown = self._skipped = 0

    @property
    def name(self) -> str:
        """The device's name in the station file."""
        return self._config.name

    @property
    def skipped_slots(self) -> int:
        """Frame times since `connect` that passed while a frame was still being drawn, or nobody called `read`."""
        return self._skipped

    def connect(self) -> None:
        """Choose a way to render, prove that it works, and wait up to 10 s for the world.

        Raises:
            DriverError: nothing can render here, or there is no world.
        """
        self.disconnect()
        self._renderer = self._open_renderer()
        try:
            self._states = ws.attach_to_world(self.name, self._run_id)
        except DriverError:
            self.disconnect()
            raise
        self._due_ns, self._shown, self._skipped = clock.now_ns(), 0, 0

    def disconnect(self) -> None:
        """Release the context and the shared memory."""
        if self._renderer is not None:
            self._renderer.close()
        if self._states is not None:
            self._states.close()
        self._renderer = self._states = None

    def facts(self) -> Mapping[str, object]:
        """Return what is drawn and how, for the episode's provenance."""
        facts = {"model": "simulated camera", "camera": self._config.camera, "gl": self._backend}
        return {**facts, "skipped_slots": self._skipped}

    def dropped(self) -> int:
        """Return 0: a frame that is drawn is returned. A slow renderer lowers the rate; see `skipped_slots`."""
        return 0

    def read(self, timeout_s: float) -> Image | None:
        """Draw and return the next frame at its time; None if there is none within `timeout_s`.

        The stamp is that of the state shown. A frame time that has passed by more than a period is skipped and counted.

        Raises:
            DriverError: the camera is not connected, or the world has ended.
        """
        if self._states is None or self._renderer is None:
            raise DriverError(f"{self.name}: not connected")
        deadline_ns = clock.now_ns() + round(timeout_s * 1e9)
        if self._due_ns > deadline_ns:
            clock.sleep_until_ns(deadline_ns)
            return None
        clock.sleep_until_ns(self._due_ns)
        newest = max(self._shown, self._states.newest - 1)
        left_s = max(0.0, (deadline_ns - clock.now_ns()) / 1e9)
        state = ws.wait_for_state(self._states, newest, 0, left_s)
        if state is None:
            ws.require_world(self.name, self._states)
            return None
        self._shown = state.sequence
        self._schedule()
        data = self._renderer.render(state.snapshot.scene)
        data.setflags(write=False)
        height, width = self._config.height, self._config.width
        return Image(state.stamp_ns, clock.now_ns(), ImageEncoding.RGB8, data, height, width, StampSource.DEVICE)

    def _schedule(self) -> None:
        """Set the next frame time on the grid, counting those that have passed already."""
        passed = max(0, (clock.now_ns() - self._due_ns) // self._period_ns)
        self._skipped += passed
        self._due_ns += (passed + 1) * self._period_ns

    def _open_renderer(self) -> "SceneRenderer":
        """Choose a backend before MuJoCo is imported, and open it."""
        try:
            self._backend = choose_gl_backend()
            from drivers.sim.renderer import SceneRenderer

            return SceneRenderer(self._config.camera, self._config.width, self._config.height)
        except ImportError as error:
            raise DriverError(f"{self.name}: needs MuJoCo: pip install 'teleop-app[sim]' ({error})") from error
        except DriverError as error:
            raise DriverError(f"{self.name}: {error}") from error
