"""Transactions on a half-duplex servo bus: one request, then the replies until all are there or the deadline passes.

A transaction never raises for a servo: each servo's `Reply` holds its data and error bits, or why there is none. Only
the port itself (unplugged) raises. Reads may be retried; writes are never repeated blindly.

A late reply never passes for the next request's: whatever has arrived is thrown away before a request, and what may
still come is recognised (`debts`).
"""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from drivers import clock
from drivers.errors import DriverError
from drivers.servo import feetech
from drivers.servo.control_table import Register
from drivers.servo.debts import Debts
from drivers.servo.feetech import NO_ERROR, Packet, ServoError
from drivers.servo.port import SerialPort

SCAN_S = 0.15
"""How long all servos together may take to answer a broadcast ping [s]."""
BITS_PER_BYTE = 10
RETRIES = 2
"""Of a measurement, which soon has a successor."""
PATIENT_RETRIES = 6
"""Of a single register, when nothing hurries."""


class BusError(DriverError):
    """A servo did not answer, or did not take a value."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one servo answered."""

    data: bytes | None
    """The bytes asked for; None if there was no valid reply."""
    error: ServoError = NO_ERROR
    """The servo's own error bits: they say nothing against `data`."""
    cause: str = ""
    """Why `data` is None."""


@dataclass(frozen=True, slots=True)
class BlockRead:
    """One block of several servos."""

    replies: Mapping[int, Reply]
    """Servo id -> reply, one for every id asked."""
    sent_ns: int
    """Before the first request left, monotonic clock [ns]."""
    received_ns: int
    """After the last reply arrived, monotonic clock [ns]."""

    @property
    def missing(self) -> list[int]:
        """Ids without data."""
        return [servo_id for servo_id, reply in self.replies.items() if reply.data is None]


class ServoBus:
    """A bus of Feetech STS/SMS servos on one serial port. Thread-safe: one transaction at a time."""

    def __init__(self, port: SerialPort, *, echo: bool = False) -> None:
        """Use `port`, which is opened by `open`; `echo` if the adapter repeats what is sent (`scan` finds out)."""
        self.port = port
        self.echo = echo
        self.return_delay_s = 0.0
        """Longest pause that a servo makes before it answers [s]."""
        self._lock = threading.Lock()
        self._debts = Debts()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """What went wrong so far: `lost, corrupt, late, duplicate, foreign, stale_bytes, retried, unacknowledged`."""
        return MappingProxyType(dict(self._counts))

    def open(self) -> None:
        """Open the port; raises PortError."""
        self.port.open()

    def close(self) -> None:
        """Close the port, after a running transaction."""
        with self._lock:
            self.port.close()

    def scan(self) -> list[int]:
        """Return the ids of all servos that answer a broadcast ping, and learn whether the adapter echoes."""
        request = feetech.ping()
        with self._lock:
            self._discard()
            self.port.write(request)
            deadline_ns = clock.now_ns() + round(SCAN_S * 1e9)
            received = b""
            while chunk := self.port.read(deadline_ns):
                received += chunk
        self.echo = received.startswith(request)  # no status packet carries the broadcast id
        parser = feetech.Parser()
        packets = parser.feed(received) + parser.finish()
        return sorted({packet.id for packet in packets if not packet.data})

    def ping(self, servo_id: int) -> Reply:
        """Ask one servo to answer; the data is empty."""
        return self._acknowledged(feetech.ping(servo_id), servo_id)

    def read(self, servo_id: int, address: int, size: int, *, retries: int = RETRIES) -> Reply:
        """Read one block of one servo, with retries."""
        return self.sync_read((servo_id,), address, size, retries=retries).replies[servo_id]

    def write(self, servo_id: int, address: int, data: bytes) -> Reply:
        """Write once and wait for the acknowledgement."""
        return self._acknowledged(feetech.write(servo_id, address, data), servo_id)

    def sync_read(
        self,
        servo_ids: Sequence[int],
        address: int,
        size: int,
        *,
        retries: int = RETRIES,
        give_up_ns: int | None = None,
    ) -> BlockRead:
        """Read one block of several servos in one transaction.

        Args:
            servo_ids: Who is asked; they answer in this order.
            address: First byte of the block.
            size: Length of the block [bytes].
            retries: How often those that did not answer are asked again.
            give_up_ns: No retry starts after this time, monotonic clock [ns].
        """
        replies = dict.fromkeys(servo_ids, Reply(None, cause="no reply"))
        pending = list(servo_ids)
        first_sent_ns = last_received_ns = 0
        for attempt in range(1 + retries):
            if attempt:
                if give_up_ns is not None and clock.now_ns() >= give_up_ns:
                    break
                self._counts["retried"] += len(pending)
            with self._lock:
                answered, sent_ns, received_ns = self._read_once(pending, address, size)
            replies |= answered
            first_sent_ns = first_sent_ns or sent_ns
            last_received_ns = received_ns
            pending = [servo_id for servo_id in pending if answered[servo_id].data is None]
            if not pending:
                break
        return BlockRead(MappingProxyType(replies), first_sent_ns, last_received_ns)

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write a block of equal size to several servos in one transaction; nobody acknowledges it."""
        request = feetech.sync_write(address, data)
        with self._lock:
            self.port.write(request)
            if self.echo:
                self._read_echo(request)

    def value(self, servo_id: int, register: Register) -> int:
        """Read one register.

        Raises:
            BusError: The servo did not answer.
        """
        reply = self.read(servo_id, register.address, register.size, retries=PATIENT_RETRIES)
        if reply.data is None:
            raise BusError(
                f"servo id {servo_id} on {self.port.path}: {reply.cause} to reading address {register.address}"
            )
        return register.decode(reply.data)

    def set_value(self, servo_id: int, register: Register, value: int) -> None:
        """Write one register and make sure of it: without an acknowledgement it is read back before it is repeated.

        Raises:
            BusError: The servo did not take the value.
        """
        data = register.encode(value)
        for _ in range(1 + RETRIES):
            if self.write(servo_id, register.address, data).data is not None:
                return
            self._counts["unacknowledged"] += 1
            if self.value(servo_id, register) == value:
                return
        raise BusError(f"servo id {servo_id} on {self.port.path} does not take {value} at address {register.address}")

    def _read_once(self, servo_ids: Sequence[int], address: int, size: int) -> tuple[dict[int, Reply], int, int]:
        self._discard()
        asked_ids = [servo_id for servo_id in servo_ids if self._debts.distinct_size((servo_id,), size) is not None]
        asked = self._debts.distinct_size(asked_ids, size)
        replies = dict.fromkeys(servo_ids, Reply(None, cause="no reply"))
        if asked is None or not asked_ids:
            now_ns = clock.now_ns()
            return replies, now_ns, now_ns
        if len(asked_ids) == 1:
            request = feetech.read(asked_ids[0], address, asked)
        else:
            request = feetech.sync_read(asked_ids, address, asked)
        answered, sent_ns, received_ns = self._exchange(request, asked_ids, asked)
        for servo_id, reply in answered.items():
            if reply.data is None:
                replies[servo_id] = reply
            else:
                replies[servo_id] = Reply(reply.data[:size], reply.error)
                self._debts.answered(servo_id)
        return replies, sent_ns, received_ns

    def _acknowledged(self, request: bytes, servo_id: int) -> Reply:
        with self._lock:
            self._discard()
            doubtful = self._debts.is_owed(servo_id, 0)
            reply = self._exchange(request, (servo_id,), 0)[0][servo_id]
        if doubtful and reply.data is not None:
            return Reply(None, reply.error, "this may be the late acknowledgement of an earlier instruction")
        return reply

    def _exchange(self, request: bytes, servo_ids: Sequence[int], size: int) -> tuple[dict[int, Reply], int, int]:
        """Send `request`; collect one reply of `size` bytes per id, in order."""
        expected = len(servo_ids) * (feetech.OVERHEAD + size)
        sent_ns = clock.now_ns()
        self.port.write(request)
        wire_s = (len(request) + expected) * BITS_PER_BYTE / self.port.baud
        deadline_ns = sent_ns + round((wire_s + len(servo_ids) * self.return_delay_s + self.port.latency_s) * 1e9)
        skip = len(request) if self.echo else 0
        received = b""
        while chunk := self.port.read(deadline_ns):
            received += chunk
            packets = feetech.aligned_replies(received[skip:], servo_ids, size)
            if packets is not None:
                return {p.id: Reply(p.data, p.error) for p in packets}, sent_ns, clock.now_ns()
            if self._last_has_answered(received, servo_ids[-1], size):
                break
        received_ns = clock.now_ns()
        if self.echo:
            received = received.partition(request)[2]
        return self._sort_out(received, servo_ids, size), sent_ns, received_ns

    @staticmethod
    def _last_has_answered(received: bytes, servo_id: int, size: int) -> bool:
        """Replies come in order: after the last one there is nothing to wait for, even if others are missing."""
        return feetech.aligned_replies(received[-feetech.OVERHEAD - size :], (servo_id,), size) is not None

    def _sort_out(self, received: bytes, servo_ids: Sequence[int], size: int) -> dict[int, Reply]:
        """Find the wanted replies among noise, damage, and answers to something else."""
        parser = feetech.Parser()
        found: dict[int, Packet] = {}
        contradictory: set[int] = set()
        for packet in parser.feed(received) + parser.finish():
            if len(packet.data) == size and packet.id in servo_ids:
                if found.setdefault(packet.id, packet) is not packet:
                    self._counts["duplicate"] += 1
                    if packet != found[packet.id]:
                        contradictory.add(packet.id)
            else:
                self._counts["late" if self._debts.settle(packet) else "foreign"] += 1
        return {
            servo_id: self._judge(servo_id, size, None if servo_id in contradictory else found.get(servo_id), parser)
            for servo_id in servo_ids
        }

    def _judge(self, servo_id: int, size: int, packet: Packet | None, parser: feetech.Parser) -> Reply:
        if packet is not None:
            return Reply(packet.data, packet.error)
        self._debts.owe(servo_id, size)
        damaged = servo_id in parser.corrupt_ids
        self._counts["corrupt" if damaged else "lost"] += 1
        return Reply(None, cause="damaged reply" if damaged else "no reply")

    def _read_echo(self, request: bytes) -> None:
        wire_s = len(request) * BITS_PER_BYTE / self.port.baud
        deadline_ns = clock.now_ns() + round((wire_s + self.port.latency_s) * 1e9)
        received = b""
        while not received.endswith(request) and (chunk := self.port.read(deadline_ns)):
            received += chunk

    def _discard(self) -> None:
        """Throw away what has arrived since; what was owed is paid with it."""
        stale = self.port.drain()
        if not stale:
            return
        self._counts["stale_bytes"] += len(stale)
        parser = feetech.Parser()
        for packet in parser.feed(stale) + parser.finish():
            self._debts.settle(packet)
