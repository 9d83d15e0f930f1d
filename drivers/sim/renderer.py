"""Draws the workcell as one of its cameras sees it, with a model of its own."""

from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
from numpy.typing import NDArray

from drivers.errors import DriverError
from drivers.samples import FloatArray
from drivers.sim.gl_backend import PACKAGES
from drivers.sim.scene import build_scene


class SceneRenderer:
    """An OpenGL context and a scene; may be used from any thread, because it draws in a thread of its own."""

    def __init__(self, camera: str, width: int, height: int) -> None:
        """Open a context for images of `width` by `height` [px] from `camera`.

        Raises:
            DriverError: there is no OpenGL context to be had.
        """
        self._camera = camera
        self._model = mujoco.MjModel.from_xml_string(build_scene(0.002, width, height))
        self._data = mujoco.MjData(self._model)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"render-{camera}")
        try:
            self._renderer = self._thread.submit(mujoco.Renderer, self._model, height, width).result()
        except (ImportError, AttributeError, RuntimeError, mujoco.FatalError) as error:
            self._thread.shutdown()
            raise DriverError(f"cannot render the simulation: {error}; install {PACKAGES}") from error

    def render(self, scene: FloatArray) -> NDArray[np.uint8]:
        """Return the RGB image of generalised positions `scene`, shape (nq,); uint8, shape (height, width, 3)."""
        return self._thread.submit(self._draw, scene).result()

    def close(self) -> None:
        """Release the context and end the thread."""
        self._thread.submit(self._renderer.close).result()
        self._thread.shutdown()

    def _draw(self, scene: FloatArray) -> NDArray[np.uint8]:
        self._data.qpos[:] = scene
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data, self._camera)
        image: NDArray[np.uint8] = self._renderer.render()
        return image
