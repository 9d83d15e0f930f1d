"""Which replies may still be under way, so that none is taken for an answer to something else.

Nothing in a reply says which request it answers. A read that went unanswered therefore leaves a debt: servo and length
of a reply that may yet come. While it stands, the same servo is only asked for blocks of another length, so the late
reply is recognised by its length, whenever it comes.
"""

from collections.abc import Iterable

from drivers import clock
from drivers.servo.feetech import Packet

LATE_HORIZON_NS = 1_000_000_000
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
        """Return whether `packet` was owed; it is not any more."""
        return self._until_ns.pop((packet.id, len(packet.data)), None) is not None

    def is_owed(self, servo_id: int, size: int) -> bool:
        """Return whether a reply of `size` bytes from `servo_id` may still come."""
        return self._until_ns.get((servo_id, size), 0) > clock.now_ns()

    def distinct_size(self, servo_ids: Iterable[int], size: int) -> int | None:
        """Return the smallest length from `size` up that no late reply of these servos has; None if all are taken."""
        if not self._until_ns:
            return size
        for asked in range(size, size + MOST_PADDING):
            if not any(self.is_owed(servo_id, asked) for servo_id in servo_ids):
                return asked
        return None

    def clear(self) -> None:
        """Forget all, after the line has been silent."""
        self._until_ns.clear()
