"""The one clock: every stamp in the application is a reading of this module.

Stamps are nanoseconds of the host's CLOCK_MONOTONIC, which never jumps. Anchors tie that clock to UTC; they are taken
at start, every 10 s and at the end of a recording, so that a drift or a step of the wall clock can be seen later.
"""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClockAnchor:
    """One simultaneous reading of both clocks."""

    monotonic_ns: int
    """CLOCK_MONOTONIC [ns]."""
    utc_ns: int
    """Nanoseconds since 1970-01-01 UTC."""
    uncertainty_ns: int
    """Half of the time that the reading took [ns]."""


def now_ns() -> int:
    """Read the host's monotonic clock [ns]."""
    return time.monotonic_ns()


def read_anchor() -> ClockAnchor:
    """Read both clocks between two monotonic readings and keep the midpoint."""
    before_ns = time.monotonic_ns()
    utc_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    half_ns = (after_ns - before_ns) // 2
    return ClockAnchor(before_ns + half_ns, utc_ns, half_ns)


def sleep_until_ns(deadline_ns: int) -> None:
    """Sleep until the monotonic clock reads at least `deadline_ns`; return at once if it already does."""
    while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / 1e9)


def utc_to_monotonic_ns(utc_ns: int, anchor: ClockAnchor) -> int:
    """Map a UTC stamp to the monotonic clock through `anchor` [ns]."""
    return utc_ns - anchor.utc_ns + anchor.monotonic_ns
