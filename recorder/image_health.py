"""What one look at a frame tells of a camera: brightness, white points, sharpness, and whether the picture changed.

Everything is measured on a grey reduction about 160 points wide, which a JPEG decoder gives almost for free by leaving
out the higher frequencies. Sharpness is the variance of the Laplacian (Pech-Pacheco et al., 2000) over the variance of
the picture, so that the same view in less light is as sharp; it depends on the view and is only ever compared with the
same camera's own.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from recorder.jpeg import describe

WIDTH = 160
"""A reduction is at least so wide, if the frame is [px]."""
WHITE_ABOVE = 247
"""A point above this level is white [levels of 255]."""
_GREY_AT = {
    1: cv2.IMREAD_GRAYSCALE,
    2: cv2.IMREAD_REDUCED_GRAYSCALE_2,
    4: cv2.IMREAD_REDUCED_GRAYSCALE_4,
    8: cv2.IMREAD_REDUCED_GRAYSCALE_8,
}
_PIXELS_NDIM = 3


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """One look at one frame."""

    grey: NDArray[np.uint8]
    """The reduction, (H, W)."""
    brightness: float
    """Mean level, 0 to 255."""
    white_share: float
    """Share of white points, 0 to 1."""
    sharpness: float
    """Variance of the Laplacian over the variance of the levels; 0 for an even picture."""


def look(frame: bytes | NDArray[np.uint8]) -> Look:
    """Look at a frame: a JPEG, or RGB pixels, uint8 (H, W, 3).

    Raises:
        ValueError: The JPEG is damaged.
    """
    grey = reduce_pixels(frame) if isinstance(frame, np.ndarray) and frame.ndim == _PIXELS_NDIM else reduce_jpeg(frame)
    mean, deviation = cv2.meanStdDev(grey)
    _, edge_deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S))
    variance = float(deviation[0, 0]) ** 2
    return Look(
        grey=grey,
        brightness=float(mean[0, 0]),
        white_share=float(np.count_nonzero(grey > WHITE_ABOVE)) / grey.size,
        sharpness=float(edge_deviation[0, 0]) ** 2 / variance if variance > 0 else 0.0,
    )


def reduce_jpeg(data: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Decode a JPEG to grey, reduced.

    Raises:
        ValueError: It is damaged.
    """
    _, width, *_ = describe(bytes(data))
    grey: NDArray[np.uint8] | None = cv2.imdecode(np.frombuffer(data, np.uint8), _GREY_AT[_reduction(width)])
    if grey is None:
        raise ValueError("damaged JPEG")
    return grey


def reduce_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Reduce RGB pixels, (H, W, 3), to grey by averaging."""
    height, width = pixels.shape[:2]
    factor = _reduction(width)
    small = cv2.resize(pixels, (width // factor, max(1, height // factor)), interpolation=cv2.INTER_AREA)
    grey: NDArray[np.uint8] = cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)
    return grey


def largest_difference(one: Look, other: Look) -> int:
    """Largest difference of a point of two looks [levels of 255]; 255 if their sizes differ."""
    if one.grey.shape != other.grey.shape:
        return 255
    return int(cv2.absdiff(one.grey, other.grey).max())


def _reduction(width: int) -> int:
    return max(factor for factor in _GREY_AT if factor == 1 or width // factor >= WIDTH)
