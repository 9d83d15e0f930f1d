"""From JPEG to something a painter takes, without fresh memory for each picture.

A new megabyte for every picture costs more in page faults than decoding it does (three quarters of the time, measured
at 90 pictures/s), so buffers go round: one returns to the pool when the `Preview` that holds it is gone.
"""

import threading
import weakref

import cv2
import numpy as np
from imagecodecs import Jpeg8Error, jpeg8_decode
from PyQt6.QtGui import QImage

from teleop_app.console.inbox import Preview
from teleop_app.station.messages import PreviewHeader

Pixels = np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]
"""Shape (height, width, channels)."""


class PictureError(ValueError):
    """A preview is not the JPEG that its header announces."""


class PictureDecoder:
    """Decodes in one thread; buffers may come back from any."""

    def __init__(self) -> None:
        """Begin without buffers, and with OpenCV's own threads off: they spin, and cost more than they help here."""
        cv2.setNumThreads(1)
        self._scratch: dict[tuple[int, int], Pixels] = {}
        self._free: dict[tuple[int, int], list[Pixels]] = {}
        self._lock = threading.Lock()

    def decode(self, header: PreviewHeader, jpeg: bytes) -> Preview:
        """Decode one picture.

        Raises:
            PictureError: it is not a JPEG of the announced size.
        """
        size = (header.height, header.width)
        scratch = self._scratch.get(size)
        if scratch is None:
            scratch = self._scratch[size] = np.empty((*size, 3), np.uint8)
        try:
            jpeg8_decode(jpeg, outcolorspace="RGB", out=scratch)
        except (Jpeg8Error, ValueError) as error:
            raise PictureError(f"not a JPEG of {header.width} x {header.height}: {error}") from None
        pixels = self._take(size)
        cv2.cvtColor(scratch, cv2.COLOR_RGB2BGRA, dst=pixels)
        stride = 4 * header.width
        image = QImage(pixels.data, header.width, header.height, stride, QImage.Format.Format_RGB32)  # type: ignore[call-overload] # any buffer is taken
        preview = Preview(header, image)
        weakref.finalize(preview, self._give_back, size, pixels).atexit = False
        return preview

    def _take(self, size: tuple[int, int]) -> Pixels:
        with self._lock:
            free = self._free.setdefault(size, [])
            return free.pop() if free else np.empty((*size, 4), np.uint8)

    def _give_back(self, size: tuple[int, int], pixels: Pixels) -> None:
        with self._lock:
            self._free[size].append(pixels)
