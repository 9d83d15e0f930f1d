"""What drivers deliver and accept: frozen, SI units, every sample with its stamps. Arrays are read-only."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class StampSource(StrEnum):
    """Where a sample's `stamp_ns` comes from."""

    DEVICE = "device"
    """The device's own clock, mapped to the host's monotonic clock."""
    HEADER = "header"
    """A ROS message header, mapped from UTC to the host's monotonic clock."""
    HOST = "host"
    """The host's clock at the moment of measurement (around the transaction)."""
    RECEIVE = "receive"
    """The host's clock when the data arrived, because nothing better was offered."""


def frozen_array(values: object, dtype: object = np.float64) -> NDArray[np.float64]:
    """Copy `values` into a read-only array of `dtype`."""
    array = np.array(values, dtype=dtype)  # type: ignore[call-overload]
    array.setflags(write=False)
    return array  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class JointState:
    """Measured state of an arm's joints, in the order of the arm's `joint_names`."""

    stamp_ns: int
    """When it was true, monotonic clock [ns]."""
    received_ns: int
    """When the host had it, monotonic clock [ns]."""
    position: FloatArray
    """[rad], or [m] for a sliding joint, shape (n_joints,)."""
    velocity: FloatArray
    """[rad/s], NaN where the device does not report it, shape (n_joints,)."""
    effort: FloatArray
    """[N m], NaN where the device does not report it, shape (n_joints,)."""
    stamp_source: StampSource = StampSource.HOST


@dataclass(frozen=True, slots=True)
class JointCommand:
    """Positions asked of an arm's joints, in the order of the arm's `joint_names`."""

    stamp_ns: int
    """When the command was decided, monotonic clock [ns]."""
    position: FloatArray
    """[rad] or [m], shape (n_joints,)."""


class ImageEncoding(StrEnum):
    """How `Image.data` is to be read."""

    RGB8 = "rgb8"
    """uint8, shape (height, width, 3)."""
    JPEG = "jpeg"
    """uint8, shape (n_bytes,): one complete JPEG file of an RGB image."""


@dataclass(frozen=True, slots=True)
class Image:
    """One camera frame."""

    stamp_ns: int
    received_ns: int
    encoding: ImageEncoding
    data: NDArray[np.uint8]
    """See `ImageEncoding`."""
    height: int
    """[px]."""
    width: int
    """[px]."""
    stamp_source: StampSource = StampSource.HOST


@dataclass(frozen=True, slots=True)
class TactileSample:
    """One reading of a tactile pad."""

    stamp_ns: int
    received_ns: int
    force: NDArray[np.float32]
    """[N], shape (rows, columns, axes)."""
    stamp_source: StampSource = StampSource.HOST


Sample = JointState | JointCommand | Image | TactileSample
