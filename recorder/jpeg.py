"""JPEG at the boundary of the recorder: look into one, make one, open one.

Format: ITU-T T.81, B.1.1 (markers) and B.2.2 (frame header). Frames are three-component, 8 bits a component.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.streams import ImageStreamSpec

SOI = b"\xff\xd8"
_FRAME_HEADERS = frozenset((0xC0, 0xC1, 0xC2))
"""Baseline, extended and progressive, which every decoder reads."""
_SCAN_HEADER = 0xDA
_FRAME_HEADER_BYTES = 6
_CHANNELS = 3
_BITS = 8


def describe(data: bytes) -> tuple[int, int, int, int]:
    """Height, width, components and bits of a JPEG.

    Raises:
        ValueError: It is none, or of a kind that not every decoder reads.
    """
    if data[:2] != SOI:
        raise ValueError(f"the frame does not start as a JPEG (first bytes: {data[:4].hex(' ') or 'none'})")
    position = 2
    while position + 4 <= len(data):
        marker = data[position + 1]
        if data[position] != 0xFF:
            raise ValueError(f"the JPEG has no marker at byte {position}")
        if marker == 0xFF:
            position += 1
            continue
        if marker in _FRAME_HEADERS:
            return _frame_header(data[position + 4 : position + 10])
        if marker == _SCAN_HEADER:
            break
        position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    raise ValueError("the JPEG has no frame header of a baseline, extended or progressive image")


def _frame_header(header: bytes) -> tuple[int, int, int, int]:
    if len(header) < _FRAME_HEADER_BYTES:
        raise ValueError("the JPEG ends within its frame header")
    height, width = int.from_bytes(header[1:3], "big"), int.from_bytes(header[3:5], "big")
    return height, width, header[5], header[0]


def check(data: bytes, spec: ImageStreamSpec) -> bytes:
    """Give back a JPEG if it has the size that the stream declares.

    Raises:
        ValueError: It is none, or of another size or kind.
    """
    found, expected = describe(data), (spec.height, spec.width, _CHANNELS, _BITS)
    if found != expected:
        text = "{1} x {0} px with {2} components of {3} bits"
        raise ValueError(f"JPEG of {text.format(*found)} instead of {text.format(*expected)}")
    return data


def encode(pixels: NDArray[np.uint8], spec: ImageStreamSpec) -> bytes:
    """Encode RGB pixels, uint8 (H, W, 3) of the stream's size, at its quality."""
    import imagecodecs

    return bytes(imagecodecs.jpeg8_encode(np.ascontiguousarray(pixels), level=spec.quality))


def decode(data: bytes) -> NDArray[np.uint8]:
    """Decode a JPEG to RGB pixels, (H, W, 3).

    Raises:
        ValueError: The data is damaged.
    """
    import imagecodecs

    try:
        pixels: NDArray[Any] = imagecodecs.jpeg8_decode(data)
    except RuntimeError as error:
        raise ValueError(f"damaged JPEG: {error}") from error
    return pixels
