"""Waiting for a device to prove that it delivers."""

from collections.abc import Callable

from drivers import clock
from drivers.errors import DriverError

FIRST_SAMPLE_S = 5.0


def wait_for_first(name: str, count: Callable[[], int], error: Callable[[], Exception | None]) -> None:
    """Return when a first sample has been read.

    Raises:
        DriverError: the read failed, or nothing came within FIRST_SAMPLE_S.
    """
    deadline_ns = clock.now_ns() + round(FIRST_SAMPLE_S * 1e9)
    while count() == 0:
        cause = error()
        if clock.now_ns() > deadline_ns:
            raise DriverError(
                str(cause) if cause is not None else f"{name} delivered nothing for {FIRST_SAMPLE_S:.0f} s"
            )
        clock.sleep_until_ns(min(deadline_ns, clock.now_ns() + 5_000_000))
