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


Size = tuple[int, int]
"""Height and width [px]."""
_SIZES_KEPT = 32


class PictureError(ValueError):
    """A preview is not the JPEG that its header announces."""


class PictureDecoder:
    """Decodes in one thread; buffers may come back from any."""

    def __init__(self) -> None:
        """Begin without buffers, and with OpenCV's own threads off: they spin, and cost more than they help here."""
        cv2.setNumThreads(1)
        self._scratch: dict[Size, Pixels] = {}
        self._free: dict[Size, list[Pixels]] = {}
        self._lock = threading.Lock()

    def decode(self, header: PreviewHeader, jpeg: bytes, room: Size | None = None) -> Preview:
        """Decode one picture.

        Args:
            header: What was announced.
            jpeg: The picture.
            room: Height and width that it will be shown in [px]; it is scaled to fit, here rather than in the
                window's thread. As it is without.

        Raises:
            PictureError: it is not a JPEG of the announced size.
        """
        size = (header.height, header.width)
        scratch = self._scratch_of(size)
        try:
            jpeg8_decode(jpeg, outcolorspace="RGB", out=scratch)
        except (Jpeg8Error, ValueError) as error:
            raise PictureError(f"not a JPEG of {header.width} x {header.height}: {error}") from None
        fitted = fit(size, room) if room is not None else size
        if fitted != size:
            scratch = cv2.resize(scratch, fitted[::-1], dst=self._scratch_of(fitted), interpolation=cv2.INTER_LINEAR)
        pixels = self._take(fitted)
        cv2.cvtColor(scratch, cv2.COLOR_RGB2BGRA, dst=pixels)
        height, width = fitted
        image = QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)  # type: ignore[call-overload] # any buffer is taken
        preview = Preview(header, image)
        weakref.finalize(preview, self._give_back, fitted, pixels).atexit = False
        return preview

    def _scratch_of(self, size: Size) -> Pixels:
        """Where a picture of `size` is put for a moment; sizes change only when the window does."""
        if size not in self._scratch:
            if len(self._scratch) > _SIZES_KEPT:
                self._scratch.clear()
            self._scratch[size] = np.empty((*size, 3), np.uint8)
        return self._scratch[size]

    def _take(self, size: Size) -> Pixels:
        with self._lock:
            if len(self._free) > _SIZES_KEPT:
                self._free.clear()
            free = self._free.setdefault(size, [])
            return free.pop() if free else np.empty((*size, 4), np.uint8)

    def _give_back(self, size: Size, pixels: Pixels) -> None:
        with self._lock:
            self._free.setdefault(size, []).append(pixels)


def fit(size: Size, room: Size) -> Size:
    """The largest size of the same shape within `room`, at least one pixel [px]."""
    share = min(room[0] / size[0], room[1] / size[1])
    return max(1, round(size[0] * share)), max(1, round(size[1] * share))
