"""One request on the line and what comes back, whatever else the line carries.

A late reply never passes for the next request's: whatever has arrived is thrown away before a request, and what may
still come is recognised (`debts`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from drivers import clock
from drivers.servo.codec import NO_CONDITION, Codec, Condition, FastReads, Packet, Parser
from drivers.servo.debts import Debts
from drivers.servo.port import SerialPort

BITS_PER_BYTE = 10
COMMON_ID = 0xFE
"""Who a common reply comes from."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one servo answered."""

    data: bytes | None
    """The bytes asked for; None if there was no valid reply."""
    error: Condition = NO_CONDITION
    """What the servo says of itself: it says nothing against `data`."""
    cause: str = ""
    """Why `data` is None."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one request brought."""

    replies: dict[int, Reply]
    """Servo id -> reply, one for every id asked."""
    sent_ns: int
    """Before the request left, monotonic clock [ns]."""
    received_ns: int
    """After the last reply arrived, monotonic clock [ns]."""


class Exchange:
    """Requests and replies of one family on one port. Not thread-safe: the bus's lock guards it."""

    def __init__(self, port: SerialPort, codec: Codec, *, echo: bool) -> None:
        """Use `port`; no I/O."""
        self.echo = echo
        self.return_delay_s = 0.0
        self.debts = Debts()
        self.counts: Counter[str] = Counter()
        self._port = port
        self._codec = codec

    def run(self, request: bytes, servo_ids: Sequence[int], size: int) -> Outcome:
        """Send `request`; collect one reply of `size` bytes per id, in order."""
        codec = self._codec
        sent_ns = clock.now_ns()
        deadline_ns = self._deadline_ns(sent_ns, len(request) + len(servo_ids) * (codec.OVERHEAD + size), servo_ids)
        self._port.write(request)
        skip = len(request) if self.echo else 0
        received = b""
        while chunk := self._port.read(deadline_ns):
            received += chunk
            packets = codec.aligned_replies(received[skip:], servo_ids, size)
            if packets is not None:
                return Outcome({p.id: self._reply(p) for p in packets}, sent_ns, clock.now_ns())
            if codec.ends_with_reply(received, servo_ids[-1], size):
                break  # replies come in order: there is nothing to wait for, even if others are missing
        received_ns = clock.now_ns()
        if self.echo:
            received = received.partition(request)[2]
        return Outcome(self._sort_out(received, servo_ids, size), sent_ns, received_ns)

    def run_fast(self, fast: FastReads, servo_ids: Sequence[int], address: int, size: int) -> Outcome:
        """Ask for one common reply; what of it does not come whole is missing."""
        request = fast.fast_sync_read(servo_ids, address, size)
        sizes = dict.fromkeys(servo_ids, size)
        length = fast.fast_size(sizes.values())
        sent_ns = clock.now_ns()
        deadline_ns = self._deadline_ns(sent_ns, len(request) + length, servo_ids)
        self._port.write(request)
        received, packets = b"", list[Packet]()
        while len(packets) < len(sizes) and (chunk := self._port.read(deadline_ns)):
            received += chunk
            if len(received) >= length:
                packets = fast.fast_replies(received, sizes)
        received_ns = clock.now_ns()
        if len(packets) < len(sizes):
            packets = fast.fast_replies(received, sizes)
            self.counts["fast_incomplete"] += 1
            self.debts.owe(COMMON_ID, length - self._codec.OVERHEAD)
        replies = dict.fromkeys(servo_ids, Reply(None, cause="no whole common reply"))
        return Outcome(replies | {p.id: self._reply(p) for p in packets}, sent_ns, received_ns)

    def owes_common(self, fast: FastReads, servo_count: int, size: int) -> bool:
        """Return whether an earlier common reply of this form may still come."""
        return self.debts.is_owed(COMMON_ID, fast.fast_size([size] * servo_count) - self._codec.OVERHEAD)

    def send(self, request: bytes) -> None:
        """Send what nobody answers."""
        self._port.write(request)
        if not self.echo:
            return
        deadline_ns = self._deadline_ns(clock.now_ns(), len(request), ())
        received = b""
        while not received.endswith(request) and (chunk := self._port.read(deadline_ns)):
            received += chunk

    def collect(self, request: bytes, wait_s: float) -> bytes:
        """Send `request`; return all that comes within `wait_s`, and learn whether the adapter echoes."""
        self._port.write(request)
        deadline_ns = clock.now_ns() + round(wait_s * 1e9)
        received = b""
        while chunk := self._port.read(deadline_ns):
            received += chunk
        self.echo = received.startswith(request)  # no status packet looks like an instruction
        return received

    def discard(self) -> None:
        """Throw away what has arrived since; what was owed is paid with it."""
        stale = self._port.drain()
        if not stale:
            return
        self.counts["stale_bytes"] += len(stale)
        parser = self._codec.status_parser()
        for packet in parser.feed(stale) + parser.finish():
            self.debts.settle(packet)

    def _deadline_ns(self, sent_ns: int, byte_count: int, servo_ids: Sequence[int]) -> int:
        wire_s = byte_count * BITS_PER_BYTE / self._port.baud
        return sent_ns + round((wire_s + len(servo_ids) * self.return_delay_s + self._port.latency_s) * 1e9)

    def _reply(self, packet: Packet) -> Reply:
        condition = self._codec.condition(packet.code)
        if condition.refusal:
            self.counts["refused"] += 1
            return Reply(None, condition, condition.refusal)
        return Reply(packet.data, condition)

    def _sort_out(self, received: bytes, servo_ids: Sequence[int], size: int) -> dict[int, Reply]:
        """Find the wanted replies among noise, damage, and answers to something else."""
        parser = self._codec.status_parser()
        found: dict[int, Packet] = {}
        contradictory: set[int] = set()
        for packet in parser.feed(received) + parser.finish():
            refused = not packet.data and self._codec.condition(packet.code).refusal
            if packet.id in servo_ids and (len(packet.data) == size or refused):
                if found.setdefault(packet.id, packet) is not packet:
                    self.counts["duplicate"] += 1
                    if packet != found[packet.id]:
                        contradictory.add(packet.id)
            else:
                self.counts["late" if self.debts.settle(packet) else "foreign"] += 1
        return {
            servo_id: self._judge(servo_id, size, None if servo_id in contradictory else found.get(servo_id), parser)
            for servo_id in servo_ids
        }

    def _judge(self, servo_id: int, size: int, packet: Packet | None, parser: Parser) -> Reply:
        if packet is not None:
            return self._reply(packet)
        self.debts.owe(servo_id, size)
        damaged = servo_id in parser.corrupt_ids
        self.counts["corrupt" if damaged else "lost"] += 1
        return Reply(None, cause="damaged reply" if damaged else "no reply")
