"""Tells cameras whether an arm moves, which a picture that stays the same is judged by."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from drivers import clock
from drivers.samples import FloatArray, JointState

LOOK_EVERY_S = 0.1
STILL_AFTER_NS = 500_000_000
"""A motion is over when none has been seen for so long: an arm that turns round has no speed for a moment."""


class ArmReader(Protocol):
    """Whatever knows an arm's newest state."""

    @property
    def latest(self) -> JointState | None:
        """The newest sample."""
        ...


class MotionListener(Protocol):
    """Whoever is told."""

    def __call__(self, *, moving: bool) -> None:
        """Motion has begun, or is over."""


@dataclass(slots=True)
class _Arm:
    reader: ArmReader
    speed: float
    position: FloatArray | None = None
    stamp_ns: int = 0

    def has_moved(self) -> bool:
        """Whether a joint was fast between the sample of the last call and the newest."""
        newest = self.reader.latest
        if newest is None or newest.stamp_ns <= self.stamp_ns:
            return False
        before, before_ns = self.position, self.stamp_ns
        self.position, self.stamp_ns = newest.position, newest.stamp_ns
        if before is None:
            return False
        furthest = float(np.nan_to_num(np.abs(newest.position - before)).max(initial=0.0))
        return furthest > self.speed * (newest.stamp_ns - before_ns) / 1e9


class ArmMotion:
    """Watches arms in a thread of its own and tells of every beginning and end of motion."""

    def __init__(self, arms: Sequence[tuple[ArmReader, float]], tell: MotionListener) -> None:
        """Watch `arms`, each with the speed at which it moves [rad/s]."""
        self._arms = [_Arm(reader, speed) for reader, speed in arms]
        self._tell = tell
        self._moving, self._last_ns = False, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="arm-motion", daemon=True)

    def start(self) -> None:
        """Begin, if there is an arm."""
        if self._arms:
            self._thread.start()

    def stop(self) -> None:
        """End; works from any state."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self, now_ns: int) -> None:
        """Look once, and tell if something has changed."""
        moved = [arm.has_moved() for arm in self._arms]
        if any(moved):
            self._last_ns = now_ns
        moving = bool(self._last_ns) and now_ns - self._last_ns < STILL_AFTER_NS
        if moving is not self._moving:
            self._moving = moving
            self._tell(moving=moving)

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            self.look(clock.now_ns())
