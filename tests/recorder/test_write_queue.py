"""A slow disk is absorbed, then its losses are counted and located; it never holds up whoever delivers."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from recorder.episode import StreamSummary
from recorder.errors import StreamStorageError
from recorder.streams import FieldSpec, ImageStreamSpec, NumericStreamSpec
from recorder.write_queue import LostRun, QueuedStream, row_bytes

SPEC = NumericStreamSpec(name="arm", rate_hz=100, fields=(FieldSpec(name="position", shape=(6,), dims=("joint",)),))
ROW = 16 + 48


class Disk:
    """A stream writer on a disk that the test can stall and break."""

    def __init__(self) -> None:
        self.stamps: list[int] = []
        self.drops = 0
        self.running = threading.Event()
        self.running.set()
        self.stalled = threading.Event()
        self.broken = False

    def append(self, time_ns: int, _received_ns: int, _values: Any) -> None:
        if not self.running.is_set():
            self.stalled.set()
            assert self.running.wait(10)
        if self.broken:
            raise StreamStorageError("no space left on device")
        self.stamps.append(time_ns)

    def add_drops(self, count: int) -> None:
        self.drops += count

    def commit(self) -> None:
        pass

    @property
    def summary(self) -> StreamSummary:
        return StreamSummary(samples=len(self.stamps), drops=self.drops)

    def close(self) -> StreamSummary:
        return self.summary


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.running.set()


def put(queue: QueuedStream, *stamps: int) -> None:
    for stamp in stamps:
        queue.append(stamp, stamp, {"position": [0.0] * 6})


def test_a_stall_is_absorbed_up_to_the_limit_and_losses_are_located(disk: Disk) -> None:
    queue = QueuedStream(disk, ROW, limit_bytes=10 * ROW)  # type: ignore[arg-type]
    disk.running.clear()
    put(queue, 1)
    assert disk.stalled.wait(5), "the thread hands over by itself"
    put(queue, *range(2, 12))
    assert queue.fault == "the disk is slow: 0 MB wait to be written"
    put(queue, 12, 13, 14)
    assert queue.lost == (LostRun(12, 14, 3, "the disk is too slow"),)
    assert queue.fault == "3 samples could not be recorded: the disk is too slow"
    disk.running.set()
    queue.drain()
    put(queue, 15)
    summary = queue.close()
    assert disk.stamps == [*range(1, 12), 15]
    assert (summary.samples, summary.drops) == (12, 3)


def test_losses_with_a_success_between_are_two_runs(disk: Disk) -> None:
    queue = QueuedStream(disk, ROW)  # type: ignore[arg-type]
    for stamp, broken in ((1, False), (2, True), (3, True), (4, False), (5, True)):
        disk.broken = broken
        put(queue, stamp)
        queue.drain()
    assert [(run.first_ns, run.last_ns, run.count) for run in queue.lost] == [(2, 3, 2), (5, 5, 1)]
    disk.broken = False
    assert queue.close().drops == 3
    assert queue.close() is queue.close(), "closing twice changes nothing"


def test_a_broken_disk_never_raises_into_the_device(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    disk.broken = True
    queue = QueuedStream(disk, ROW)  # type: ignore[arg-type]
    put(queue, 1, 2, 3)
    queue.drain()
    assert "no space left on device" in queue.fault
    assert len(caplog.records) == 1, "a run is logged once, not once a sample"
    queue.close()


def test_the_thread_ends_with_its_last_member(disk: Disk) -> None:
    queue = QueuedStream(disk, ROW)  # type: ignore[arg-type]
    put(queue, 1, 2, 3)
    assert queue.close().samples == 3
    for thread in threading.enumerate():
        if thread.name == "recorder-write":
            thread.join(5)
            assert not thread.is_alive()


def test_the_size_of_a_row_is_what_it_takes() -> None:
    assert row_bytes(SPEC) == ROW
    assert row_bytes(ImageStreamSpec(name="front", rate_hz=30, height=48, width=64)) == 3 * 48 * 64
