"""When the next sample is due, and how many were missed."""

from drivers import clock


class Pace:
    """Deadlines at a fixed rate; a missed one is counted, not made up for."""

    def __init__(self, rate_hz: float) -> None:
        """Begin with the first `due_ns`."""
        self.missed = 0
        """Deadlines that passed by a whole period."""
        self._period_ns = round(1e9 / rate_hz)
        self._next_ns: int | None = None

    def restart(self) -> None:
        """Begin anew."""
        self.missed, self._next_ns = 0, None

    def due_ns(self) -> int:
        """Return the next deadline that has not passed by a whole period, monotonic clock [ns]."""
        now_ns = clock.now_ns()
        if self._next_ns is None:
            self._next_ns = now_ns
        missed = max(0, (now_ns - self._next_ns) // self._period_ns)
        self.missed += missed
        self._next_ns += missed * self._period_ns
        return self._next_ns

    def take(self, due_ns: int) -> int:
        """Note that the deadline `due_ns` was met; return the one after it [ns]."""
        self._next_ns = due_ns + self._period_ns
        return self._next_ns
