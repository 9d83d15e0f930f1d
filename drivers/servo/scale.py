"""An arm's calibration as arrays: counts of all joints to radians and back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from drivers.errors import CommandRejectedError
from drivers.samples import FloatArray
from drivers.servo.calibration import COUNTS_PER_TURN, RAD_PER_COUNT, GripperCalibration, RevoluteCalibration

IntArray = NDArray[np.int64]


def require_positions(arm: str, joint_names: Sequence[str], positions: FloatArray) -> None:
    """Check commanded positions.

    Raises:
        CommandRejectedError: Not one finite number for each joint.
    """
    if positions.shape != (len(joint_names),):
        raise CommandRejectedError(f"{arm} takes {len(joint_names)} positions, not an array of shape {positions.shape}")
    if not np.isfinite(positions).all():
        bad = [name for name, value in zip(joint_names, positions, strict=True) if not np.isfinite(value)]
        raise CommandRejectedError(f"{arm}: the command for {', '.join(bad)} is not finite")


class JointScale:
    """Converts counts of an arm's joints, in joint order; every array has shape (n_joints,)."""

    def __init__(self, joints: Sequence[RevoluteCalibration | GripperCalibration], velocity_unit: float) -> None:
        """Lay `joints` out as arrays; `velocity_unit` is one count of velocity of the shaft [rad/s]."""
        self._counts, self._angles = np.array([joint.reference for joint in joints], dtype=np.float64).T
        self._slopes = np.array([joint.rad_per_count for joint in joints], dtype=np.float64)
        self._velocity_slopes = self._slopes * velocity_unit / RAD_PER_COUNT
        self._low = np.array([joint.minimum for joint in joints], dtype=np.float64)
        self._high = np.array([joint.maximum for joint in joints], dtype=np.float64)

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest angle of each joint [rad]."""
        ends = np.stack((self._to_angles(self._low), self._to_angles(self._high)))
        return ends.min(axis=0), ends.max(axis=0)

    def positions(self, counts: IntArray) -> FloatArray:
        """Return angles [rad] of readings taken in any turn."""
        middle = (self._low + self._high) / 2
        return self._to_angles(counts + COUNTS_PER_TURN * np.round((middle - counts) / COUNTS_PER_TURN))

    def velocities(self, counts: IntArray) -> FloatArray:
        """Return angular velocities [rad/s]."""
        return counts * self._velocity_slopes

    def turns(self, counts: IntArray) -> IntArray:
        """Return how far readings are from the turn of their joint's range, in whole turns [count]."""
        middle = (self._low + self._high) / 2
        return (COUNTS_PER_TURN * np.round((counts - middle) / COUNTS_PER_TURN)).astype(np.int64)

    def goals(self, positions: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the counts to command for angles [rad] and the angles that they really are, within the range."""
        wanted = np.round(self._counts + (positions - self._angles) / self._slopes)
        counts = np.clip(wanted, self._low, self._high)
        return counts.astype(np.int64), self._to_angles(counts)

    def _to_angles(self, counts: FloatArray) -> FloatArray:
        angles: FloatArray = self._angles + (counts - self._counts) * self._slopes
        return angles
