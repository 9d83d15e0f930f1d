"""The background loop against scripted reads."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from drivers import clock
from drivers.errors import DriverError
from drivers.polling import PollingReader


@dataclass(frozen=True)
class Tick:
    stamp_ns: int
    number: int


class ScriptedDevice:
    """Delivers one tick per permit; raises what it is told to."""

    def __init__(self) -> None:
        self.permits = threading.Semaphore(0)
        self.failures: list[Exception] = []
        self.number = 0

    def read(self, timeout_s: float) -> Tick | None:
        if self.failures:
            raise self.failures.pop(0)
        if not self.permits.acquire(timeout=timeout_s):
            return None
        self.number += 1
        return Tick(clock.now_ns(), self.number)

    def deliver(self, count: int = 1) -> None:
        for _ in range(count):
            self.permits.release()


def wait_for(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.002)


@pytest.fixture
def device() -> ScriptedDevice:
    return ScriptedDevice()


@pytest.fixture
def started() -> Iterator[list[PollingReader[Tick]]]:
    readers: list[PollingReader[Tick]] = []
    yield readers
    for reader in readers:
        reader.stop()
        assert not reader.running


def test_before_the_first_sample_nothing_is_known(device, started):
    reader = PollingReader("arm", device.read)
    started.append(reader)
    reader.start()
    assert (reader.latest, reader.count, reader.error, reader.rate_hz) == (None, 0, None, 0.0)
    assert reader.age_s() == float("inf")


def test_every_sample_is_recorded_before_it_is_published(device, started):
    seen: list[tuple[int, int]] = []
    reader = PollingReader("arm", device.read, [lambda tick: seen.append((tick.number, reader.count))])
    started.append(reader)
    reader.start()
    device.deliver(5)
    wait_for(lambda: reader.count == 5)
    assert seen == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4)]
    assert reader.latest.number == 5
    assert reader.rate_hz == 5.0
    assert 0 <= reader.age_s() < 5


def test_the_thread_carries_the_devices_name(device, started):
    names: list[str] = []
    reader = PollingReader("wrist_camera", device.read, [lambda _: names.append(threading.current_thread().name)])
    started.append(reader)
    reader.start()
    device.deliver()
    wait_for(lambda: reader.count == 1)
    assert names == ["wrist_camera"]


def test_a_driver_error_is_counted_shown_and_survived(device, started, caplog):
    device.failures = [DriverError("the cable is out"), DriverError("the cable is out")]
    reader = PollingReader("arm", device.read)
    started.append(reader)
    reader.start()
    wait_for(lambda: reader.error_count == 2)
    assert str(reader.error) == "the cable is out"
    assert [record.message for record in caplog.records] == ["arm: the cable is out"]
    device.deliver()
    wait_for(lambda: reader.count == 1)
    assert reader.error is None
    assert reader.error_count == 2


def test_a_defect_in_a_driver_is_shown_and_survived(device, started, caplog):
    device.failures = [ZeroDivisionError("oops")]
    reader = PollingReader("arm", device.read)
    started.append(reader)
    reader.start()
    device.deliver()
    wait_for(lambda: reader.count == 1)
    assert reader.error_count == 1
    assert any(record.exc_info for record in caplog.records)


def test_a_failing_sink_stops_neither_the_other_sink_nor_the_reading(device, started, caplog):
    taken: list[int] = []

    def full_disk(_: Tick) -> None:
        raise OSError("disk full")

    reader = PollingReader("arm", device.read, [full_disk, lambda tick: taken.append(tick.number)])
    started.append(reader)
    reader.start()
    device.deliver(3)
    wait_for(lambda: reader.count == 3)
    assert taken == [1, 2, 3]
    assert reader.sink_error_count == 3
    assert [record.message for record in caplog.records] == [
        "arm: a sink failed (1 times so far)",
        "arm: a sink failed (2 times so far)",
    ]


def test_an_old_stamp_is_old_and_a_future_stamp_is_not_young():
    now_ns = clock.now_ns()
    for offset_s, oldest in ((-100, 100.0), (3600, 0.0)):
        reader = PollingReader("arm", lambda _: None)
        reader._deliver(Tick(now_ns + int(offset_s * 1e9), 1))
        assert oldest <= reader.age_s() < oldest + 5


def test_the_rate_forgets_what_is_older_than_a_second(monkeypatch):
    reader = PollingReader("arm", lambda _: None)
    now_ns = 10_000_000_000
    monkeypatch.setattr(clock, "now_ns", lambda: now_ns)
    for _ in range(150):
        now_ns += 10_000_000
        reader._deliver(Tick(now_ns, 1))
    assert reader.rate_hz == 100.0
    now_ns += 900_000_000
    assert reader.rate_hz == 10.0


def test_stop_is_idempotent_allowed_before_start_and_start_works_again(device, started):
    reader = PollingReader("arm", device.read)
    started.append(reader)
    reader.stop()
    for expected in (1, 2):
        reader.start()
        reader.start()
        device.deliver()
        wait_for(lambda expected=expected: reader.count == expected)
        reader.stop()
        reader.stop()
        assert not reader.running


def test_stop_interrupts_the_back_off(device):
    device.failures = [DriverError("gone")] * 100
    reader = PollingReader("arm", device.read)
    reader.start()
    wait_for(lambda: reader.error_count >= 4)
    before = time.monotonic()
    reader.stop()
    assert time.monotonic() - before < 1.0
    assert not reader.running
