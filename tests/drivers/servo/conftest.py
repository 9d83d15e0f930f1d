"""An emulated arm of six servos at the other end of a pseudo terminal."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from drivers.configs import ServoArmConfig
from drivers.emulators.faults import Fault, FaultKind
from drivers.emulators.feetech import FeetechEmulator
from drivers.emulators.pty import PtyServer
from drivers.servo import feetech
from drivers.servo.arm import ServoArm
from drivers.servo.bus import ServoBus
from drivers.servo.port import SerialPort

JOINTS = dict(zip(("pan", "lift", "elbow", "flex", "roll", "gripper"), range(1, 7), strict=True))


@dataclass(frozen=True)
class Line:
    """Emulator, server and what tests do to them."""

    emulator: FeetechEmulator
    server: PtyServer

    def inject(self, kind: FaultKind, **more: object) -> None:
        self.server.faults.inject(Fault(kind, **more))

    def place(self, *counts: int) -> None:
        for servo, count in zip(self.emulator.servos, counts, strict=True):
            servo.hand = lambda _, count=count: float(count)

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Nobody acknowledges a sync write: wait until the emulator has carried it out."""
        deadline = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < deadline, "condition not met in time"
            time.sleep(0.001)


@pytest.fixture
def line() -> Iterator[Line]:
    emulator = FeetechEmulator(JOINTS.values())
    server = PtyServer(emulator)
    server.start()
    yield Line(emulator, server)
    server.stop()


@pytest.fixture
def bus(line: Line) -> Iterator[ServoBus]:
    port = SerialPort(line.server.path, 1_000_000)
    bus = ServoBus(port, feetech)
    bus.open()
    port.latency_s = 0.05  # the tests' machine may be busy
    yield bus
    bus.close()


@pytest.fixture
def make_arm(line: Line) -> Iterator[Callable[..., ServoArm]]:
    arms: list[ServoArm] = []

    def make(role: str = "leader", calibration: Path | None = None, joints: dict[str, int] = JOINTS) -> ServoArm:
        config = ServoArmConfig(
            name="arm",
            port=line.server.path,
            joints=joints,
            role=role,
            rate_hz=200,
            calibration=None if calibration is None else str(calibration),
        )
        arms.append(ServoArm(config))
        return arms[-1]

    yield make
    for arm in arms:
        arm.disconnect()
