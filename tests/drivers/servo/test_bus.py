"""Transactions with the emulated bus under every fault."""

import os
import select
import threading
import time
import tty

import pytest

from drivers.emulators.faults import FaultKind, Reply
from drivers.emulators.pty import PtyServer
from drivers.servo import feetech
from drivers.servo.bus import BusError, ServoBus
from drivers.servo.debts import MOST_PADDING
from drivers.servo.feetech import ServoError
from drivers.servo.feetech_table import STS3215
from drivers.servo.port import PortError, SerialPort

IDS = (1, 2, 3, 4, 5, 6)
POSITION = STS3215["present_position"]
TORQUE = STS3215["torque_enable"]


def positions(block):
    return [None if reply.data is None else POSITION.decode(reply.data) for reply in block.replies.values()]


def test_all_servos_answer_a_scan(bus):
    assert bus.scan() == list(IDS)
    assert not bus.echo


def test_one_transaction_reads_all_in_order(line, bus):
    line.place(100, 200, 300, 400, 500, 600)
    bus.ping(1)
    block = bus.sync_read(IDS, POSITION.address, 2)
    assert positions(block) == [100, 200, 300, 400, 500, 600]
    assert block.sent_ns < block.received_ns
    assert not bus.counts


def test_read_and_write_one_register(bus):
    bus.set_value(3, STS3215["goal_velocity"], -500)
    assert bus.value(3, STS3215["goal_velocity"]) == -500
    assert bus.ping(3).data == b""


def test_a_sync_write_reaches_those_addressed(bus):
    goal = STS3215["goal_position"]
    bus.sync_write(goal.address, {servo_id: goal.encode(servo_id * 10) for servo_id in (2, 5)})
    assert [bus.value(servo_id, goal) for servo_id in IDS] == [0, 20, 0, 0, 50, 0]


def test_error_bits_come_with_the_data(line, bus):
    line.emulator.servo(6).latch(ServoError.OVERLOAD)
    reply = bus.read(6, POSITION.address, 2)
    assert (POSITION.decode(reply.data), reply.error) == (2048, ServoError.OVERLOAD)


@pytest.mark.parametrize("kind", [FaultKind.LOST, FaultKind.LATE, FaultKind.CORRUPTED, FaultKind.PARTIAL])
@pytest.mark.parametrize("source", [1, 3, 6])
def test_a_faulty_reply_is_asked_for_again_and_counted(line, bus, kind, source):
    line.place(100, 200, 300, 400, 500, 600)
    bus.ping(1)
    line.inject(kind, source=source, delay_s=0.07)
    assert positions(bus.sync_read(IDS, POSITION.address, 2)) == [100, 200, 300, 400, 500, 600]
    failed = bus.counts.get("lost", 0) + bus.counts.get("corrupt", 0)
    assert failed == bus.counts["retried"] >= 1


@pytest.mark.parametrize("kind", [FaultKind.DUPLICATED, FaultKind.NOISE])
def test_foreign_bytes_and_duplicates_do_no_harm(line, bus, kind):
    line.inject(kind, remaining=None)
    for _ in range(5):
        assert positions(bus.sync_read(IDS, POSITION.address, 2)) == [2048] * 6


def test_without_retries_a_missing_reply_is_missing_and_the_others_are_there(line, bus):
    for kind, cause in ((FaultKind.LOST, "no reply"), (FaultKind.CORRUPTED, "damaged reply")):
        line.inject(kind, source=2)
        block = bus.sync_read(IDS, POSITION.address, 2, retries=0)
        assert positions(block) == [2048, None, 2048, 2048, 2048, 2048]
        assert block.missing == [2]
        assert block.replies[2].cause == cause


def test_an_earlier_servo_missing_costs_no_waiting(line, bus):
    bus.port.latency_s = 2.0
    line.inject(FaultKind.LOST, source=1)
    before = time.monotonic()
    assert bus.sync_read(IDS, POSITION.address, 2).missing == []
    assert time.monotonic() - before < 1.0


class OneBehind:
    """A servo that answers each request with the reply to the one before; each reply says which request it is for."""

    def __init__(self) -> None:
        self.requests = 0
        self.prompt = False
        self.reply = b""

    def feed(self, data: bytes, now_ns: int) -> list[Reply]:
        self.requests += 1
        (request,) = feetech.Parser().feed(data)
        previous = self.reply
        self.reply = feetech.encode(request.id, 0, self.requests.to_bytes(2, "little").ljust(request.data[1], b"\0"))
        return [Reply(previous), Reply(self.reply if self.prompt else b"")]


@pytest.fixture
def one_behind():
    device = OneBehind()
    server = PtyServer(device)
    server.start()
    port = SerialPort(server.path, 1_000_000)
    bus = ServoBus(port, feetech)
    bus.open()
    yield device, bus
    bus.close()
    server.stop()


def test_a_late_reply_is_never_taken_for_the_next_ones(one_behind):
    device, bus = one_behind
    for _ in range(2 * MOST_PADDING):
        assert bus.sync_read((1,), POSITION.address, 2, retries=0).missing == [1]
    assert bus.counts["late"] >= MOST_PADDING
    assert bus.counts["lost"] == 2 * MOST_PADDING
    device.prompt = True
    for _ in range(5):
        (value,) = positions(bus.sync_read((1,), POSITION.address, 2))
        assert value == device.requests


def test_no_retry_starts_after_the_budget(line, bus):
    line.inject(FaultKind.LOST, source=6, remaining=None)
    block = bus.sync_read(IDS, POSITION.address, 2, retries=5, give_up_ns=0)
    assert block.missing == [6]
    assert "retried" not in bus.counts


def test_a_write_without_acknowledgement_is_checked_before_it_is_repeated(line, bus):
    line.inject(FaultKind.LOST, source=4)
    bus.set_value(4, TORQUE, 1)
    assert line.emulator.servo(4).get("torque_enable") == 1
    assert bus.counts["unacknowledged"] == 1


def test_a_servo_that_never_acknowledges_is_still_written(line, bus):
    bus.set_value(4, STS3215["response_level"], 0)
    bus.set_value(4, TORQUE, 1)
    assert line.emulator.servo(4).get("torque_enable") == 1


def test_what_a_servo_does_not_take_is_said(line, bus):
    line.inject(FaultKind.LOST, source=2, remaining=None)
    with pytest.raises(BusError, match=r"servo id 2 on .*: no reply to reading address 40"):
        bus.set_value(2, TORQUE, 1)
    line.server.faults.clear()
    with pytest.raises(BusError, match=r"servo id 9 on .*: no reply"):
        bus.value(9, TORQUE)


def test_bytes_from_before_are_thrown_away_and_counted(line, bus):
    bus.port.write(feetech.read(1, POSITION.address, 2))  # a reply will come that the bus did not ask for
    assert select.select([bus.port._fd], [], [], 5.0)[0]
    line.place(3000, 3000, 3000, 3000, 3000, 3000)
    time.sleep(0.005)  # two periods of the firmware
    assert positions(bus.sync_read(IDS, POSITION.address, 2)) == [3000] * 6
    assert bus.counts == {"stale_bytes": 8}


def test_a_doubtful_acknowledgement_is_not_believed(line, bus):
    bus.port.latency_s = 0.01
    line.inject(FaultKind.LATE, source=4, delay_s=0.03)
    assert bus.write(4, TORQUE.address, b"\x01").data is None
    bus.port.latency_s = 0.2
    reply = bus.write(4, TORQUE.address, b"\x00")
    assert (reply.data, reply.cause) == (None, "this may be the late acknowledgement of an earlier instruction")
    assert bus.value(4, TORQUE) == 0
    assert bus.write(4, TORQUE.address, b"\x01").data == b""


def test_an_echoing_adapter_is_recognised(line):
    server = PtyServer(line.emulator, echo=True)
    server.start()
    port = SerialPort(server.path, 1_000_000)
    bus = ServoBus(port, feetech)
    bus.open()
    port.latency_s = 0.05
    try:
        assert bus.scan() == list(IDS)
        assert bus.echo
        line.place(100, 200, 300, 400, 500, 600)
        bus.ping(1)
        assert positions(bus.sync_read(IDS, POSITION.address, 2)) == [100, 200, 300, 400, 500, 600]
        goal = STS3215["goal_position"]
        bus.sync_write(goal.address, {1: goal.encode(7)})
        assert bus.value(1, goal) == 7
        assert not bus.counts
    finally:
        bus.close()
        server.stop()


def test_an_unplugged_adapter_is_said(line, bus):
    line.server.stop()
    with pytest.raises(PortError, match="was unplugged or its adapter was reset"):
        bus.ping(1)
    bus.close()
    with pytest.raises(PortError, match="is not open"):
        bus.ping(1)


def test_a_line_that_babbles_without_end_does_not_hang():
    master, slave = os.openpty()
    tty.setraw(slave)
    over = threading.Event()

    def babble() -> None:
        while not over.wait(0.002):
            os.write(master, b"\xff\xff\x01\x60babble")

    bus = ServoBus(SerialPort(os.ttyname(slave), 1_000_000), feetech)
    bus.open()
    babbler = threading.Thread(target=babble)
    babbler.start()
    try:
        before = time.monotonic()
        for _ in range(2 * MOST_PADDING):
            assert bus.sync_read((1,), POSITION.address, 2, retries=0).missing == [1]
        assert time.monotonic() - before < 3.0
    finally:
        over.set()
        babbler.join()
        bus.close()
        os.close(master)
        os.close(slave)
