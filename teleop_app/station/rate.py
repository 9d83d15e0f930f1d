"""Absolute deadlines at a fixed rate, with the lateness of every tick."""

import logging
import os
from collections import deque

import numpy as np

from drivers import clock

log = logging.getLogger(__name__)

REALTIME_PRIORITY = 20


def take_realtime_priority() -> bool:
    """Ask for SCHED_FIFO for the calling thread; return whether it was granted (root, or an rtprio limit)."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REALTIME_PRIORITY))
    except (OSError, AttributeError) as error:
        log.info("the control loop runs at normal priority: %s", error)
        return False
    return True


class Ticker:
    """Hands out deadlines on a fixed grid; a missed deadline is counted and never made up for."""

    def __init__(self, rate_hz: float, window_s: float = 5.0) -> None:
        """Keep lateness of the last `window_s` [s]."""
        self.period_ns = round(1e9 / rate_hz)
        self.missed = 0
        """Deadlines that passed without a tick of their own."""
        self.ticks = 0
        self._next_ns = 0
        self._late_ns: deque[int] = deque(maxlen=max(1, round(window_s * rate_hz)))

    def wait(self) -> tuple[int, int]:
        """Sleep until the next deadline.

        Returns:
            The deadline and the time at which the tick really began, monotonic clock [ns].
        """
        now_ns = clock.now_ns()
        if not self._next_ns:
            self._next_ns = now_ns + self.period_ns
        behind = (now_ns - self._next_ns) // self.period_ns
        if behind > 0:
            self.missed += behind
            self._next_ns += behind * self.period_ns
        deadline_ns = self._next_ns
        clock.sleep_until_ns(deadline_ns)
        began_ns = clock.now_ns()
        self._late_ns.append(began_ns - deadline_ns)
        self._next_ns += self.period_ns
        self.ticks += 1
        return deadline_ns, began_ns

    def let_pass(self, count: int, timeout_s: float = 1.0) -> None:
        """From another thread: wait until `count` more ticks have begun, or `timeout_s` if nobody ticks [s]."""
        until, deadline_ns = self.ticks + count, clock.now_ns() + round(timeout_s * 1e9)
        while self.ticks < until and clock.now_ns() < deadline_ns:
            clock.sleep_until_ns(clock.now_ns() + self.period_ns)

    def lateness_ms(self, percentile: float = 99.0) -> float:
        """Percentile of the lateness over the window [ms]; 0 before the first tick."""
        late = list(self._late_ns)
        return float(np.percentile(late, percentile)) / 1e6 if late else 0.0
