"""What can happen to a reply between the servo and the host, as a table of small functions.

A `FaultInjector` applies faults to chosen replies: the next few, every n-th, or those of one servo.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

NOISE = bytes.fromhex("6018ff00ffff")
"""Foreign bytes, with a false header at the end."""


class FaultKind(StrEnum):
    """One way in which a reply goes wrong."""

    LOST = "lost"
    LATE = "late"
    CORRUPTED = "corrupted"
    PARTIAL = "partial"
    DUPLICATED = "duplicated"
    NOISE = "noise"


@dataclass(frozen=True, slots=True)
class Reply:
    """Bytes that a device sends."""

    data: bytes
    delay_s: float = 0.0
    """How long after the request, or after the end of the previous reply, it begins [s]."""
    late_s: float = 0.0
    """Delivered this much later, and later replies of the same source behind it [s]."""
    source: int = -1
    """Which device of the bus sent it; a servo's id."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault and the replies that it strikes."""

    kind: FaultKind
    remaining: int | None = 1
    """How many replies it still strikes; None for no end."""
    every: int = 1
    """Strike only each n-th of the replies that fit."""
    source: int | None = None
    """Strike only replies of this device."""
    delay_s: float = 0.05
    """How late a late reply is [s]."""


def _flip_a_bit(reply: Reply, _: Fault) -> list[Reply]:
    middle = len(reply.data) // 2
    return [replace(reply, data=reply.data[:middle] + bytes((reply.data[middle] ^ 0x10,)) + reply.data[middle + 1 :])]


STRIKE: Mapping[FaultKind, Callable[[Reply, Fault], list[Reply]]] = MappingProxyType(
    {
        FaultKind.LOST: lambda reply, fault: [],
        FaultKind.LATE: lambda reply, fault: [replace(reply, late_s=fault.delay_s)],
        FaultKind.CORRUPTED: _flip_a_bit,
        FaultKind.PARTIAL: lambda reply, fault: [replace(reply, data=reply.data[: len(reply.data) // 2])],
        FaultKind.DUPLICATED: lambda reply, fault: [reply, reply],
        FaultKind.NOISE: lambda reply, fault: [replace(reply, data=NOISE + reply.data)],
    }
)


class FaultInjector:
    """The faults in force; may be changed from any thread while the emulator runs."""

    def __init__(self) -> None:
        """No faults."""
        self._lock = threading.Lock()
        self._faults: list[tuple[Fault, int]] = []
        self._struck: Counter[FaultKind] = Counter()

    @property
    def struck(self) -> Mapping[FaultKind, int]:
        """How many replies each kind has struck so far."""
        with self._lock:
            return dict(self._struck)

    def inject(self, fault: Fault) -> None:
        """Put `fault` in force."""
        with self._lock:
            self._faults.append((fault, 0))

    def clear(self) -> None:
        """End all faults."""
        with self._lock:
            self._faults.clear()

    def apply(self, reply: Reply) -> list[Reply]:
        """Return what really goes out instead of `reply`; at most one fault strikes it."""
        if not self._faults:
            return [reply]
        with self._lock:
            for index, (fault, seen) in enumerate(self._faults):
                if fault.source not in (None, reply.source):
                    continue
                self._faults[index] = (fault, seen + 1)
                if (seen + 1) % fault.every == 0:
                    self._spend(index)
                    return STRIKE[fault.kind](reply, fault)
        return [reply]

    def _spend(self, index: int) -> None:
        fault, seen = self._faults[index]
        self._struck[fault.kind] += 1
        if fault.remaining is None:
            return
        if fault.remaining == 1:
            del self._faults[index]
        else:
            self._faults[index] = (replace(fault, remaining=fault.remaining - 1), seen)
