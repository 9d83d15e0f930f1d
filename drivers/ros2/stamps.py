"""From message headers to stamps on the host's monotonic clock, for publishers whose clock may be wrong.

The age of a message (received minus header) is its delay plus the error of the publisher's clock. Delays are small and
never negative, so the smallest recent age tells whether the clocks agree. If they do, headers are taken as they are. If
not (an hour ahead, a robot without NTP), the smallest age is subtracted, which puts the least delayed message at its
receive time and keeps the publisher's own spacing.
"""

from drivers.clock import ClockAnchor, read_anchor, utc_to_monotonic_ns
from drivers.samples import StampSource

OLDEST_PLAUSIBLE_NS = 1_000_000_000
"""A header may be this much older than its arrival before the clocks are held to disagree [ns]."""
AHEAD_PLAUSIBLE_NS = 2_000_000
"""A header may be this far in the future: the tolerance of clock reading and NTP on one network [ns]."""
WINDOW_NS = 10_000_000_000
"""The smallest age is taken over one to two windows, so that drift is followed [ns]."""


STEP_NS = 100_000
"""A disagreement of two anchors beyond their uncertainties by this much is a step of the wall clock [ns]."""


class AnchorKeeper:
    """Keeps the sharpest anchor between the host's two clocks until the wall clock is stepped.

    Linux slews both clocks alike, so their difference only changes by steps, while a single reading is wrong by up to
    its uncertainty whenever the process was preempted in the middle: that would be jitter on every stamp.
    """

    def __init__(self) -> None:
        """Start without an anchor."""
        self._best: ClockAnchor | None = None

    def read(self) -> ClockAnchor:
        """Read both clocks; return the best anchor that still holds."""
        anchor = read_anchor()
        best = self._best
        if best is None or anchor.uncertainty_ns < best.uncertainty_ns or self._disagree(anchor, best):
            self._best = best = anchor
        return best

    @staticmethod
    def _disagree(one: ClockAnchor, other: ClockAnchor) -> bool:
        difference_ns = (one.utc_ns - one.monotonic_ns) - (other.utc_ns - other.monotonic_ns)
        return abs(difference_ns) > one.uncertainty_ns + other.uncertainty_ns + STEP_NS


class HeaderClock:
    """Maps the header stamps of one topic; used by one thread at a time."""

    def __init__(self) -> None:
        """Start without an estimate."""
        self._smallest_ns: int | None = None
        self._previous_ns: int | None = None
        self._window_start_ns = 0
        self._counts = {StampSource.HEADER: 0, StampSource.RECEIVE: 0}
        self._steps = 0

    @property
    def offset_ns(self) -> int | None:
        """Header clock minus host clock, less the smallest delay; None before the first header stamp [ns]."""
        if self._smallest_ns is None:
            return None
        return -min(self._smallest_ns, self._smallest_ns if self._previous_ns is None else self._previous_ns)

    @property
    def corrected(self) -> bool:
        """Whether the clocks disagree, so that stamps are corrected by `offset_ns`."""
        offset_ns = self.offset_ns
        return offset_ns is not None and not -OLDEST_PLAUSIBLE_NS <= offset_ns <= AHEAD_PLAUSIBLE_NS

    def stamp(self, header_utc_ns: int, received_ns: int, anchor: ClockAnchor) -> tuple[int, StampSource]:
        """Map one header.

        Args:
            header_utc_ns: The header's stamp, UTC by the publisher's clock; 0 means that there is none [ns].
            received_ns: When the message arrived, monotonic clock [ns].
            anchor: A recent reading of both clocks of this host.

        Returns:
            The stamp on the monotonic clock [ns], and what it was taken from.
        """
        if header_utc_ns == 0:
            self._counts[StampSource.RECEIVE] += 1
            return received_ns, StampSource.RECEIVE
        stamp_ns = utc_to_monotonic_ns(header_utc_ns, anchor)
        self._observe(received_ns - stamp_ns, received_ns)
        self._counts[StampSource.HEADER] += 1
        if self.corrected and self.offset_ns is not None:
            stamp_ns -= self.offset_ns
        return stamp_ns, StampSource.HEADER

    def _observe(self, age_ns: int, received_ns: int) -> None:
        offset_ns = self.offset_ns
        if offset_ns is not None and abs(age_ns + offset_ns) > OLDEST_PLAUSIBLE_NS:
            self._steps += 1  # the publisher's clock stepped, or another publisher took over: forget the estimate
            offset_ns = None
        if offset_ns is None or self._smallest_ns is None:
            self._smallest_ns, self._previous_ns, self._window_start_ns = age_ns, None, received_ns
        elif received_ns - self._window_start_ns > WINDOW_NS:
            self._smallest_ns, self._previous_ns, self._window_start_ns = age_ns, self._smallest_ns, received_ns
        else:
            self._smallest_ns = min(self._smallest_ns, age_ns)

    def facts(self) -> dict[str, object]:
        """Counts by source of the stamp and the estimated offset, JSON-ready."""
        offset_ns = self.offset_ns
        return {
            "stamps": {str(source): count for source, count in self._counts.items()},
            "header_clock_ahead_s": None if offset_ns is None else offset_ns / 1e9,
            "header_clock_corrected": self.corrected,
            "header_clock_steps": self._steps,
        }
