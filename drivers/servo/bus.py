"""Transactions on a half-duplex servo bus: one request, then the replies until all are there or the deadline passes.

A transaction never raises for a servo: each servo's `Reply` holds its data and what it says of itself, or why there is
no data. Only the port itself (unplugged) raises. Reads may be retried; writes are never repeated blindly.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from drivers import clock
from drivers.errors import DriverError
from drivers.servo.codec import Codec, FastReads
from drivers.servo.exchange import Exchange, Outcome, Reply
from drivers.servo.port import SerialPort
from drivers.servo.registers import Register

REBOOT_S = 2.0
"""How long a servo may take to restart [s]."""
RETRIES = 2
"""Of a measurement, which soon has a successor."""
PATIENT_RETRIES = 6
"""Of a single register, when nothing hurries."""


class BusError(DriverError):
    """A servo did not answer, or did not take a value."""


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
    """A bus of one family's servos on one serial port. Thread-safe: one transaction at a time."""

    def __init__(self, port: SerialPort, codec: Codec, *, echo: bool = False) -> None:
        """Use `port`, which is opened by `open`; `echo` if the adapter repeats what is sent."""
        self.port = port
        self.fast: FastReads | None = None
        """Reads with a common reply, for servos that all know them."""
        self._codec = codec
        self._lock = threading.Lock()
        self._exchange = Exchange(port, codec, echo=echo)

    @property
    def echo(self) -> bool:
        """Whether the adapter repeats what is sent."""
        return self._exchange.echo

    @property
    def return_delay_s(self) -> float:
        """Longest pause that a servo makes before it answers [s]."""
        return self._exchange.return_delay_s

    @return_delay_s.setter
    def return_delay_s(self, delay_s: float) -> None:
        self._exchange.return_delay_s = delay_s

    @property
    def counts(self) -> Mapping[str, int]:
        """What went wrong so far.

        `lost, corrupt, late, duplicate, foreign, stale_bytes, refused, fast_incomplete, retried, unacknowledged`.
        """
        return MappingProxyType(dict(self._exchange.counts))

    def open(self) -> None:
        """Open the port; raises PortError."""
        self.port.open()

    def close(self) -> None:
        """Close the port, after a running transaction."""
        with self._lock:
            self.port.close()

    def scan(self) -> list[int]:
        """Return the ids of all servos that answer a broadcast ping, and learn whether the adapter echoes."""
        with self._lock:
            self._exchange.discard()
            received = self._exchange.collect(self._codec.ping(), self._codec.SCAN_S)
        parser = self._codec.status_parser()
        packets = parser.feed(received) + parser.finish()
        return sorted({packet.id for packet in packets if len(packet.data) == self._codec.PING_SIZE})

    def learn_echo(self, servo_id: int) -> None:
        """Find out whether the adapter repeats what is sent; `servo_id` need not answer."""
        with self._lock:
            self._exchange.discard()
            self._exchange.collect(self._codec.ping(servo_id), self.port.latency_s)

    def ping(self, servo_id: int) -> Reply:
        """Ask one servo to answer; the data is what its family answers to a ping."""
        return self._acknowledged(self._codec.ping(servo_id), servo_id, self._codec.PING_SIZE)

    def read(self, servo_id: int, address: int, size: int, *, retries: int = RETRIES) -> Reply:
        """Read one block of one servo, with retries."""
        return self.sync_read((servo_id,), address, size, retries=retries).replies[servo_id]

    def write(self, servo_id: int, address: int, data: bytes) -> Reply:
        """Write once and wait for the acknowledgement."""
        return self._acknowledged(self._codec.write(servo_id, address, data), servo_id)

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
        fast = self.fast if len(pending) > 1 else None
        first_sent_ns = last_received_ns = 0
        for attempt in range(1 + retries):
            if attempt:
                if give_up_ns is not None and clock.now_ns() >= give_up_ns:
                    break
                self._exchange.counts["retried"] += len(pending)
            with self._lock:
                if fast is None or attempt or self._exchange.owes_common(fast, len(pending), size):
                    outcome = self._read_once(pending, address, size)
                else:
                    self._exchange.discard()
                    outcome = self._exchange.run_fast(fast, pending, address, size)
            replies |= outcome.replies
            first_sent_ns = first_sent_ns or outcome.sent_ns
            last_received_ns = outcome.received_ns
            pending = [servo_id for servo_id in pending if replies[servo_id].data is None]
            if not pending:
                break
        return BlockRead(MappingProxyType(replies), first_sent_ns, last_received_ns)

    def sync_write(self, address: int, data: Mapping[int, bytes]) -> None:
        """Write a block of equal size to several servos in one transaction; nobody acknowledges it."""
        request = self._codec.sync_write(address, data)
        with self._lock:
            self._exchange.send(request)

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
            reply = self.write(servo_id, register.address, data)
            if reply.data is not None:
                return
            if reply.error.refusal:
                raise BusError(
                    f"servo id {servo_id} on {self.port.path} refuses {value} at address {register.address}: "
                    f"{reply.cause}"
                )
            self._exchange.counts["unacknowledged"] += 1
            if self.value(servo_id, register) == value:
                return
        raise BusError(f"servo id {servo_id} on {self.port.path} does not take {value} at address {register.address}")

    def reboot(self, servo_id: int) -> None:
        """Restart a servo and wait until it answers again: its latched errors are gone, its torque is off.

        Raises:
            BusError: It does not come back, or its family is restarted by switching the power alone.
        """
        request = self._codec.reboot(servo_id)
        if not request:
            raise BusError(f"servo id {servo_id} on {self.port.path} cannot be rebooted: switch its power off and on")
        self._acknowledged(request, servo_id)
        end_ns = clock.now_ns() + round(REBOOT_S * 1e9)
        while self.ping(servo_id).data is None:
            if clock.now_ns() > end_ns:
                raise BusError(
                    f"servo id {servo_id} on {self.port.path} has not come back {REBOOT_S:g} s after a reboot"
                )

    def _read_once(self, servo_ids: Sequence[int], address: int, size: int) -> Outcome:
        exchange = self._exchange
        exchange.discard()
        asked_ids = [servo_id for servo_id in servo_ids if exchange.debts.distinct_size((servo_id,), size) is not None]
        asked = exchange.debts.distinct_size(asked_ids, size)
        replies = dict.fromkeys(servo_ids, Reply(None, cause="no reply"))
        if asked is None or not asked_ids:
            now_ns = clock.now_ns()
            return Outcome(replies, now_ns, now_ns)
        if len(asked_ids) == 1:
            request = self._codec.read(asked_ids[0], address, asked)
        else:
            request = self._codec.sync_read(asked_ids, address, asked)
        outcome = exchange.run(request, asked_ids, asked)
        for servo_id, reply in outcome.replies.items():
            replies[servo_id] = reply
            if reply.data is not None:
                replies[servo_id] = Reply(reply.data[:size], reply.error)
                exchange.debts.answered(servo_id)
        return Outcome(replies, outcome.sent_ns, outcome.received_ns)

    def _acknowledged(self, request: bytes, servo_id: int, size: int = 0) -> Reply:
        with self._lock:
            self._exchange.discard()
            doubtful = self._exchange.debts.is_owed(servo_id, size)
            reply = self._exchange.run(request, (servo_id,), size).replies[servo_id]
        if doubtful and reply.data is not None:
            return Reply(None, reply.error, "this may be the late acknowledgement of an earlier instruction")
        return reply
