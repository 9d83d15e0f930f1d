"""From Image and CompressedImage messages to RGB pixels or a JPEG file. Pure: no ROS import, no I/O.

Encodings and row padding (`step`) follow sensor_msgs; JPEG markers follow ITU-T T.81, table B.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from drivers.errors import DeviceConfigError
from drivers.samples import ImageEncoding

Bytes = NDArray[np.uint8]

RAW_ENCODINGS: dict[str, tuple[int, int | None]] = {
    "rgb8": (3, None),
    "bgr8": (3, cv2.COLOR_BGR2RGB),
    "mono8": (1, cv2.COLOR_GRAY2RGB),
    "rgba8": (4, cv2.COLOR_RGBA2RGB),
    "bgra8": (4, cv2.COLOR_BGRA2RGB),
}
"""Encoding -> bytes per pixel, and how OpenCV makes RGB of it."""
FROM_CHANNELS = {1: cv2.COLOR_GRAY2RGB, 3: cv2.COLOR_BGR2RGB, 4: cv2.COLOR_BGRA2RGB}
"""Channels of a decoded file -> how OpenCV makes RGB of it."""

FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Start of frame, SOF0..SOF15; the three excluded codes are tables and an extension."""
BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length: TEM, RST0..RST7, SOI."""
END_OF_IMAGE = b"\xff\xd9"


class RawMessage(Protocol):
    """The fields of sensor_msgs/Image that matter here."""

    height: int
    width: int
    encoding: str
    step: int
    data: Sequence[int]


class CompressedMessage(Protocol):
    """The fields of sensor_msgs/CompressedImage that matter here."""

    format: str
    data: Sequence[int]


@dataclass(frozen=True, slots=True)
class Pixels:
    """A frame ready for `drivers.samples.Image`."""

    encoding: ImageEncoding
    data: Bytes
    height: int
    width: int


@dataclass(frozen=True, slots=True)
class JpegHeader:
    """What the start-of-frame segment says."""

    height: int
    width: int
    components: int


def read_jpeg_header(data: bytes) -> JpegHeader | None:
    """Read the size from a JPEG file without decoding it; None if `data` is not a JPEG file up to its frame header."""
    if data[:2] != b"\xff\xd8":
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
        elif marker in BARE_MARKERS:
            at += 2
        elif marker in FRAME_MARKERS:
            height, width = int.from_bytes(data[at + 5 : at + 7]), int.from_bytes(data[at + 7 : at + 9])
            return JpegHeader(height, width, data[at + 9])
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4])
    return None


def _frozen(pixels: Bytes) -> Bytes:
    pixels.setflags(write=False)
    return pixels


def raw_pixels(message: RawMessage) -> Pixels | None:
    """Make RGB of a raw image; None if its data is shorter than its header says.

    Raises:
        DeviceConfigError: an encoding that is not a colour or grey image of 8 bits.
    """
    if message.encoding not in RAW_ENCODINGS:
        raise DeviceConfigError(
            f"image encoding {message.encoding!r} is not supported (supported: {', '.join(RAW_ENCODINGS)})"
        )
    channels, conversion = RAW_ENCODINGS[message.encoding]
    height, width, step = message.height, message.width, message.step
    data = np.frombuffer(memoryview(message.data), dtype=np.uint8)  # type: ignore[arg-type] # array.array in rclpy
    if min(height, width) < 1 or step < width * channels or data.size < height * step:
        return None
    rows = data[: height * step].reshape(height, step)[:, : width * channels]
    pixels = rows.reshape(height, width, channels)
    if conversion is not None:
        pixels = np.asarray(cv2.cvtColor(pixels, conversion), dtype=np.uint8)
    return Pixels(ImageEncoding.RGB8, _frozen(np.ascontiguousarray(pixels)), height, width)


def compressed_pixels(message: CompressedMessage) -> Pixels | None:
    """Pass a colour JPEG through byte for byte; decode anything else. None if it is damaged or cut short.

    Raises:
        DeviceConfigError: not 8 bits per channel, as depth images are not.
    """
    data = np.frombuffer(memoryview(message.data), dtype=np.uint8)  # type: ignore[arg-type] # array.array in rclpy
    blob = data.tobytes()
    header = read_jpeg_header(blob)
    if header is None:
        return _decoded(data, message.format)
    if END_OF_IMAGE not in blob[-64:]:
        return None
    if header.components != 3:
        return _decoded(data, message.format)
    return Pixels(ImageEncoding.JPEG, _frozen(data), header.height, header.width)


def _decoded(data: Bytes, image_format: str) -> Pixels | None:
    if data.size == 0:
        return None
    try:
        pixels = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
    except cv2.error:
        return None
    if pixels is None:
        return None
    if pixels.dtype != np.uint8:
        raise DeviceConfigError(f"compressed image format {image_format!r} has {pixels.dtype} pixels; supported: uint8")
    channels = 1 if pixels.ndim == 2 else pixels.shape[2]
    rgb = np.asarray(cv2.cvtColor(pixels, FROM_CHANNELS[channels]), dtype=np.uint8)
    return Pixels(ImageEncoding.RGB8, _frozen(rgb), rgb.shape[0], rgb.shape[1])
