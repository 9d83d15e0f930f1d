import os
import signal
import subprocess
import sys
import uuid

import pytest

from drivers.errors import DriverError
from drivers.latest_slot import SHARED_MEMORY, LatestSlot

WRITER = """
import sys
from drivers.latest_slot import LatestSlot

slot = LatestSlot.create(sys.argv[1], 60_000, depth=int(sys.argv[2]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    slot.write(number, bytes([number % 251]) * (30_000 + number % 30_000), tag=-number)
"""


@pytest.fixture
def name():
    name = f"test-{uuid.uuid4().hex}"
    yield name
    (SHARED_MEMORY / f"teleop-{name}").unlink(missing_ok=True)


@pytest.fixture
def slot(name):
    slot = LatestSlot.create(name, 100)
    yield slot
    slot.close()


def start_writer(name, depth):
    process = subprocess.Popen([sys.executable, "-c", WRITER, name, str(depth)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    return process


@pytest.fixture
def writer(name):
    process = start_writer(name, 2)
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_reader_gets_the_newest_value_once(name, slot):
    reader = LatestSlot.attach(name)
    assert reader.read() is None
    slot.write(10, b"first")
    slot.write(20, b"second", tag=7)
    value = reader.read()
    assert (value.sequence, value.stamp_ns, value.tag, value.payload) == (2, 20, 7, b"second")
    assert reader.read(after=value.sequence) is None
    slot.write(30, b"")
    assert reader.read(after=2).payload == b""
    reader.close()


def test_read_next_returns_every_value_in_order_and_a_gap_shows_a_loss(name):
    slot = LatestSlot.create(name, 8, depth=4)
    for number in range(1, 4):
        slot.write(number, b"%d" % number)
    seen, last = [], 0
    while (value := slot.read_next(last)) is not None:
        seen.append(value.payload)
        last = value.sequence
    assert seen == [b"1", b"2", b"3"]
    for number in range(4, 14):
        slot.write(number, b"%d" % number)
    assert slot.read_next(last).sequence == 10, "the oldest of the four entries still held"
    slot.close()


def test_too_long_a_payload_is_refused_and_the_value_before_stays(slot):
    slot.write(1, b"kept")
    with pytest.raises(DriverError, match="101 bytes are more than its capacity of 100"):
        slot.write(2, bytes(101))
    assert slot.read().payload == b"kept"


def test_a_missing_slot_is_said_in_one_sentence(name):
    with pytest.raises(DriverError, match="is its writer running"):
        LatestSlot.attach(name)


def test_a_file_that_is_no_slot_is_refused(name):
    path = SHARED_MEMORY / f"teleop-{name}"
    path.write_bytes(b"x")
    with pytest.raises(DriverError, match=r"not a slot .* only 1 bytes"):
        LatestSlot.attach(name)
    path.write_bytes(bytes(131))
    with pytest.raises(DriverError, match="its header is different"):
        LatestSlot.attach(name)


@pytest.mark.parametrize("bad", ["", "../x", "a/b", "a b"])
def test_a_name_cannot_leave_the_folder(bad):
    with pytest.raises(DriverError, match="letters"):
        LatestSlot.create(bad, 10)


def test_close_and_unlink_can_be_repeated(name, slot):
    reader = LatestSlot.attach(name)
    assert not reader.replaced
    for _ in range(2):
        slot.unlink()
        slot.close()
    assert reader.replaced
    assert not reader.has_writer()
    reader.close()


def test_no_read_is_torn_while_another_process_writes(name, writer):
    reader = LatestSlot.attach(name)
    last, values = 0, 0
    while values < 1500:
        value = reader.read(after=last)
        if value is None:
            continue
        assert value.sequence > last
        assert value.stamp_ns == value.sequence == -value.tag
        assert len(value.payload) == 30_000 + value.sequence % 30_000
        assert value.payload.count(value.sequence % 251) == len(value.payload)
        last, values = value.sequence, values + 1
    reader.close()


def test_a_second_writer_is_refused_until_the_first_is_dead(name, writer):
    reader = LatestSlot.attach(name)
    assert reader.has_writer()
    with pytest.raises(DriverError, match="already has a living writer"):
        LatestSlot.create(name, 100)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    assert not reader.has_writer()
    left_over = reader.read()
    assert left_over is None or left_over.payload.count(left_over.sequence % 251) == len(left_over.payload)
    LatestSlot.create(name, 100).close()
    assert reader.replaced
    reader.close()
