"""Which replies may still be under way, so that none is taken for an answer to something else.

Nothing in a reply says which request it answers. A read that went unanswered therefore leaves a debt: servo and length
of a reply that may yet come. While it stands, the same servo is only asked for blocks of another length, so the late
reply is recognised by its length, whenever it comes. A servo that owes every length is not asked for a while.

A servo answers in the order in which it was asked, and the line keeps that order: once it has answered something, it
owes nothing older.
"""

from collections.abc import Iterable

from drivers import clock
from drivers.servo.codec import Packet

LATE_HORIZON_NS = 500_000_000
"""How long an unanswered request may still be answered [ns]."""
MOST_PADDING = 12
"""Longest extension of a block [bytes]."""


class Debts:
    """Replies that are owed, by servo id and length. Not thread-safe: the bus's lock guards it."""

    def __init__(self) -> None:
        """Nothing is owed."""
        self._until_ns: dict[tuple[int, int], int] = {}

    def owe(self, servo_id: int, size: int) -> None:
        """Note that a reply of `size` bytes from `servo_id` may still come."""
        self._until_ns[servo_id, size] = clock.now_ns() + LATE_HORIZON_NS

    def settle(self, packet: Packet) -> bool:
        """Return whether `packet` was owed; neither it nor anything older is any more."""
        until_ns = self._until_ns.get((packet.id, len(packet.data)))
        if until_ns is None:
            return False
        self._forget(packet.id, until_ns)
        return True

    def answered(self, servo_id: int) -> None:
        """Note that `servo_id` has answered the newest request: nothing older will come."""
        if self._until_ns:
            self._forget(servo_id, clock.now_ns() + LATE_HORIZON_NS)

    def is_owed(self, servo_id: int, size: int) -> bool:
        """Return whether a reply of `size` bytes from `servo_id` may still come."""
        return self._until_ns.get((servo_id, size), 0) > clock.now_ns()

    def distinct_size(self, servo_ids: Iterable[int], size: int) -> int | None:
        """Return the smallest length from `size` up that no late reply of these servos has; None if all are taken."""
        if not self._until_ns:
            return size
        asked = list(servo_ids)
        for length in range(size, size + MOST_PADDING):
            if not any(self.is_owed(servo_id, length) for servo_id in asked):
                return length
        return None

    def _forget(self, servo_id: int, until_ns: int) -> None:
        for key, expiry_ns in list(self._until_ns.items()):
            if key[0] == servo_id and expiry_ns <= until_ns:
                del self._until_ns[key]
