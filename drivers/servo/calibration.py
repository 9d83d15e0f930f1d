"""From encoder counts to radians and back: per joint a zero or two end points, a direction and a range.

An encoder counts 0 to 4095 and starts again, so a joint's travel may lead over the seam. Counts are therefore always
taken in the turn around the middle of the joint's range: a joint that travels from 3900 over 4095 to 200 has the range
3900 to 4296, and a reading of 150 is 4246. This needs no memory, so a restart changes nothing.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from drivers.errors import DeviceConfigError
from drivers.servo.registers import ServoModel

COUNTS_PER_TURN = 4096
CENTRE = 2048
LARGEST_OFFSET = 1_044_479
"""Largest magnitude that any servo's homing offset holds [count]."""
RAD_PER_COUNT = 2 * math.pi / COUNTS_PER_TURN


class _Joint(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    servo_id: Annotated[int, Field(ge=0, le=252)]
    homing_offset: Annotated[int, Field(ge=-LARGEST_OFFSET, le=LARGEST_OFFSET)] = 0
    """What the servo's EEPROM held when it was calibrated [count]."""
    drive_mode: Annotated[int, Field(ge=0, le=255)] = 0
    """The same of the drive mode, whose bit 0 reverses what a DYNAMIXEL servo counts."""


class RevoluteCalibration(_Joint):
    """A joint whose angle follows the encoder one to one."""

    kind: Literal["revolute"] = "revolute"
    zero: float = CENTRE
    """Count at 0 rad."""
    direction: Literal[1, -1] = 1
    """1 if counts grow with the angle."""
    minimum: int = 0
    """Lower end of the range [count]."""
    maximum: int = COUNTS_PER_TURN - 1
    """Upper end; beyond 4095 where the range leads over the seam [count]."""

    @model_validator(mode="after")
    def _ordered(self) -> "RevoluteCalibration":
        if not 0 < self.maximum - self.minimum <= COUNTS_PER_TURN:
            raise ValueError(f"the range {self.minimum} to {self.maximum} must rise by 1 to {COUNTS_PER_TURN} counts")
        return self

    @property
    def rad_per_count(self) -> float:
        """Slope [rad]."""
        return self.direction * RAD_PER_COUNT

    @property
    def reference(self) -> tuple[float, float]:
        """A count and its angle [rad]."""
        return self.zero, 0.0


class GripperCalibration(_Joint):
    """A gripper: what counts is how far it is open, so every gripper maps to the same angles."""

    kind: Literal["gripper"] = "gripper"
    closed: int
    """Count when closed."""
    open: int
    """Count when fully open; its difference to `closed` gives the direction."""
    closed_rad: float = 0.0
    """Angle reported when closed [rad]."""
    open_rad: float = 1.6
    """Angle reported when fully open [rad]."""

    @model_validator(mode="after")
    def _apart(self) -> "GripperCalibration":
        if not 0 < abs(self.open - self.closed) < COUNTS_PER_TURN:
            raise ValueError(
                f"open {self.open} and closed {self.closed} must differ by 1 to {COUNTS_PER_TURN - 1} counts"
            )
        if self.open_rad == self.closed_rad:
            raise ValueError(f"open_rad and closed_rad must differ, both are {self.open_rad}")
        return self

    @property
    def minimum(self) -> int:
        """Lower end of the range [count]."""
        return min(self.closed, self.open)

    @property
    def maximum(self) -> int:
        """Upper end of the range [count]."""
        return max(self.closed, self.open)

    @property
    def rad_per_count(self) -> float:
        """Slope [rad]."""
        return (self.open_rad - self.closed_rad) / (self.open - self.closed)

    @property
    def reference(self) -> tuple[float, float]:
        """A count and its angle [rad]."""
        return self.closed, self.closed_rad


JointCalibration = Annotated[RevoluteCalibration | GripperCalibration, Field(discriminator="kind")]


class ArmCalibration(BaseModel):
    """One arm's calibration, as it is in its file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm_id: Annotated[str, Field(min_length=1)]
    """Which arm this is: written on its base."""
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}")]
    """When it was calibrated, ISO 8601."""
    residual: float | None = None
    """Largest disagreement when the reference pose was checked again [rad]."""
    joints: Annotated[dict[str, JointCalibration], Field(min_length=1)]


def default_joints(joints: Mapping[str, int]) -> dict[str, JointCalibration]:
    """Return what is used when no file is configured, joint name -> id given: 2048 is 0 rad, the whole turn allowed."""
    return {name: RevoluteCalibration(servo_id=servo_id) for name, servo_id in joints.items()}


def load_calibration(path: Path) -> ArmCalibration:
    """Read a calibration file, YAML or JSON.

    Raises:
        DeviceConfigError: Missing, unreadable or not a calibration; the text names file, field and value.
    """
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))  # JSON is YAML
    except FileNotFoundError as error:
        raise DeviceConfigError(
            f"calibration file {path} does not exist: calibrate the arm, or correct the path"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise DeviceConfigError(f"calibration file {path} cannot be read: {reason}") from error
    try:
        return ArmCalibration.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise DeviceConfigError(
            f"calibration file {path}: {where}: {first['msg']} (found {first['input']!r})"
        ) from error


def save_calibration(calibration: ArmCalibration, path: Path) -> None:
    """Write a calibration file: JSON if its name ends so, YAML otherwise. An existing file is replaced at once.

    Raises:
        DeviceConfigError: It cannot be written there.
    """
    values = calibration.model_dump(mode="json")
    text = json.dumps(values, indent=2) + "\n" if path.suffix == ".json" else yaml.safe_dump(values, sort_keys=False)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise DeviceConfigError(f"calibration file {path} cannot be written: {error.strerror}") from error


def unwrap(readings: Sequence[int]) -> list[int]:
    """Undo the seam in consecutive readings [count]: each step is the shorter way round."""
    unwrapped: list[int] = []
    for reading in readings:
        previous = unwrapped[-1] if unwrapped else reading
        step = (reading - previous + COUNTS_PER_TURN // 2) % COUNTS_PER_TURN - COUNTS_PER_TURN // 2
        unwrapped.append(previous + step)
    return unwrapped


def swept_range(readings: Sequence[int]) -> tuple[int, int]:
    """Return lower and upper end [count] of a joint that was moved through its range, at most one turn.

    The lower end lies within 0..4095, the upper may lie beyond. A joint that was turned further than once has no ends:
    its range is the turn around the centre.

    Raises:
        ValueError: There are no readings.
    """
    if not readings:
        raise ValueError("a sweep needs at least one reading")
    unwrapped = unwrap(readings)
    low, high = min(unwrapped), max(unwrapped)
    if high - low >= COUNTS_PER_TURN - 1:
        return 0, COUNTS_PER_TURN - 1
    shift = low % COUNTS_PER_TURN - low
    return low + shift, high + shift


def homing_offset(actual: int, model: ServoModel, wanted: int = CENTRE) -> int:
    """Return the offset that makes a servo of `model` report `wanted` where its encoder says `actual` [count].

    An offset that does not fit into the register is cut to what does: the servo then reports something else than
    `wanted`, which the joint's zero and range take up.
    """
    half = COUNTS_PER_TURN // 2
    offset = -model.homing_sign * (actual - wanted)
    offset = (offset + half) % COUNTS_PER_TURN - half
    return max(-model.largest_offset, min(model.largest_offset, offset))
