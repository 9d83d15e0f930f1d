"""A camera in its own process, over a real pipe: frozen while the arm is said to move, and silent when it hangs."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivers import clock
from recorder.segments import CollectionMode
from teleop_app.station.config import StationConfig
from teleop_app.station.hardware import Hardware
from teleop_app.station.session import Session

pytestmark = [pytest.mark.gl, pytest.mark.slow]
CONFIG = StationConfig.model_validate(
    {
        "station": "bench",
        "task": "stack",
        "follower": "arm",
        "health": {"gap_s": 5, "slow_below": 0.1},  # the machine may be busy with other tests
        "devices": [
            {"driver": "sim_arm", "name": "arm"},
            {"driver": "sim_camera", "name": "front", "rate_hz": 20, "width": 160, "height": 120},
        ],
    }
)


def wait_until(condition: Callable[[], bool], timeout_s: float = 15.0) -> None:
    deadline_ns = clock.now_ns() + round(timeout_s * 1e9)
    while not condition():
        assert clock.now_ns() < deadline_ns, "it did not happen in time"
        clock.sleep_until_ns(clock.now_ns() + 20_000_000)


@pytest.fixture(scope="module")
def hardware() -> Iterator[Hardware]:
    attached = Hardware(CONFIG, f"health{os.getpid()}")
    try:
        attached.connect()
        yield attached
    finally:
        attached.disconnect()


def test_a_picture_that_stays_while_the_arm_moves_is_marked(hardware: Hardware, tmp_path: Path) -> None:
    """The arm rests, so the simulated picture stays; only the cameras are told that it moves."""
    front = hardware.cameras["front"]
    session = Session(CONFIG, tmp_path / "collection", hardware.streams)
    session.start(CollectionMode.TELEOP_DEMO)
    told_ns = clock.now_ns()
    hardware.tell_cameras(moving=True)
    wait_until(lambda: any("front has shown the same picture" in said for said in front.health().problems))
    hardware.tell_cameras(moving=False)
    wait_until(lambda: not any("same picture" in said for said in front.health().problems))
    session.keep_house()
    info = session.stop()
    marks = [event.detail for event in info.events if event.kind == "health" and event.detail["problem"] == "frozen"]
    assert [mark["stream"] for mark in marks] == ["front"]
    assert told_ns <= marks[0]["start_ns"] < marks[0]["end_ns"] <= info.stop_ns  # type: ignore[operator]
    assert marks[0]["duration_s"] >= 0.5
    assert any("showed the same picture while the arm moved" in said for said in info.streams["front"].warnings)


def test_a_worker_that_hangs_is_a_fault_and_its_picture_ages(hardware: Hardware) -> None:
    front = hardware.cameras["front"]
    assert front.health().fault == ""
    process = front.link._process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    try:
        wait_until(lambda: "front: its process has not been heard of for" in front.health().fault)
        assert front.health().age_s > 1.5
        assert front.health().rate_hz == 0.0
    finally:
        process.send_signal(signal.SIGCONT)
    wait_until(lambda: front.health().fault == "")
