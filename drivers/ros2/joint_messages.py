"""From JointState messages to arrays in the configured joint order. Pure: no ROS import, no I/O.

Names decide, never positions in the message: publishers order joints as they like, add others, and several publishers
may share a topic (arm and gripper).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from drivers.samples import FloatArray, frozen_array

KNOWN_LAYOUTS = 64
"""Name lists remembered: a handful of publishers have one each."""


class JointMessage(Protocol):
    """The fields of sensor_msgs/JointState that matter here."""

    name: Sequence[str]
    position: Sequence[float]
    velocity: Sequence[float]
    effort: Sequence[float]


@dataclass(frozen=True, slots=True)
class JointValues:
    """One message in our order; shapes (n_joints,), NaN where not reported."""

    position: FloatArray
    velocity: FloatArray
    effort: FloatArray


class JointMapper:
    """Maps messages to `joints` and counts those that it cannot use."""

    def __init__(self, joints: Sequence[str]) -> None:
        """Remember the wanted order."""
        self._joints = tuple(joints)
        self._layouts: dict[tuple[str, ...], list[int] | None] = {}
        self._counts = dict.fromkeys(("used", "incomplete", "malformed", "not_finite", "odd_velocity_or_effort"), 0)
        self._seen: dict[str, None] = {}

    @property
    def used(self) -> int:
        """Messages that became a sample."""
        return self._counts["used"]

    @property
    def rejected(self) -> int:
        """Messages that named all our joints and yet gave no sample: wrong length, doubled name, NaN or infinity."""
        return self._counts["malformed"] + self._counts["not_finite"]

    @property
    def incomplete(self) -> int:
        """Messages that lacked at least one of our joints."""
        return self._counts["incomplete"]

    def seen_names(self) -> list[str]:
        """All joint names seen so far, in order of appearance."""
        return list(self._seen)

    def missing_names(self) -> list[str]:
        """Wanted joints that no message has named so far."""
        return [joint for joint in self._joints if joint not in self._seen]

    def map(self, message: JointMessage) -> JointValues | None:
        """Return the values in our order; None, counted, if the message lacks a joint or is not valid."""
        names = tuple(message.name)
        index = self._layout(names)
        if index is None:
            self._counts["incomplete"] += 1
            return None
        if not index or len(message.position) != len(names):
            self._counts["malformed"] += 1
            return None
        position = frozen_array(np.asarray(message.position)[index])
        if not np.isfinite(position).all():
            self._counts["not_finite"] += 1
            return None
        self._counts["used"] += 1
        velocity = self._optional(message.velocity, len(names), index)
        return JointValues(position, velocity, self._optional(message.effort, len(names), index))

    def counts(self) -> Mapping[str, int]:
        """Messages by what became of them."""
        return dict(self._counts)

    def _layout(self, names: tuple[str, ...]) -> list[int] | None:
        """Where our joints stand in `names`; None if one is missing, empty if one is there twice."""
        if names not in self._layouts:
            if len(self._layouts) >= KNOWN_LAYOUTS:
                self._layouts.clear()
            self._seen.update(dict.fromkeys(names))
            occurrences = [names.count(joint) for joint in self._joints]
            index = [] if max(occurrences) > 1 else [names.index(joint) for joint in self._joints if joint in names]
            self._layouts[names] = index if min(occurrences) > 0 else None
        return self._layouts[names]

    def _optional(self, values: Sequence[float], length: int, index: list[int]) -> FloatArray:
        if len(values) == length:
            return frozen_array(np.asarray(values)[index])
        if len(values) > 0:
            self._counts["odd_velocity_or_effort"] += 1
        return frozen_array(np.full(len(index), np.nan))
