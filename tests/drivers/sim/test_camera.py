import os
import subprocess
import sys

import numpy as np
import pytest

from drivers import clock
from drivers.configs import SimArmConfig
from drivers.samples import JointCommand
from drivers.sim import workcell as w
from drivers.sim.arm import SimArm

WORKER = """
import sys
import numpy as np
from drivers import clock
from drivers.configs import SimCameraConfig
from drivers.errors import DriverError
from drivers.samples import ImageEncoding
from drivers.sim.camera import SimCamera

camera = SimCamera(SimCameraConfig(name="eye", camera=sys.argv[2], rate_hz=20, width=160, height=120), sys.argv[1])
camera.connect()
print("connected", flush=True)
for line in sys.stdin:
    count, path = line.split()
    before_ns = clock.now_ns()
    try:
        frames = [frame for frame in (camera.read(1.0) for _ in range(int(count))) if frame is not None]
    except DriverError as error:
        print(error, flush=True)
        continue
    for frame in frames:
        assert frame.data.shape == (frame.height, frame.width, 3) == (120, 160, 3)
        assert frame.encoding is ImageEncoding.RGB8 and not frame.data.flags.writeable
        assert frame.stamp_ns <= frame.received_ns
    stamps = [frame.stamp_ns for frame in frames]
    np.savez(path, frames=np.array([frame.data for frame in frames]), stamps=stamps, before=before_ns,
             skipped=camera.skipped_slots)
    print(camera.facts()["gl"], flush=True)
camera.disconnect()
camera.disconnect()
try:
    camera.read(0.1)
except DriverError as error:
    print(error, flush=True)
"""


class Worker:
    """A camera in a process of its own, as it lives in the station."""

    def __init__(self, run_id, view, folder):
        environment = {key: value for key, value in os.environ.items() if key != "MUJOCO_GL"}
        self._folder, self._count = folder, 0
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, run_id, view],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self):
        return self.process.stdout.readline().strip()

    def ask(self, count):
        self._count += 1
        self.process.stdin.write(f"{count} {self._folder / str(self._count)}.npz\n")
        self.process.stdin.flush()
        return self.say()

    def frames(self, count):
        assert self.ask(count) in {"egl", "osmesa"}
        with np.load(self._folder / f"{self._count}.npz") as arrays:
            return dict(arrays)

    def end(self):
        out, _ = self.process.communicate()
        return out.strip()


@pytest.fixture
def start(tmp_path):
    workers = []

    def start(run_id, view):
        workers.append(Worker(run_id, view, tmp_path))
        return workers[-1]

    yield start
    for worker in workers:
        worker.process.kill()
        worker.process.communicate()


def move(arm, pan):
    arm.command(JointCommand(clock.now_ns(), np.array([pan, *w.HOME[1:]])))
    while abs(arm.read(0.5).position[0] - pan) > 0.03:
        pass


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("view", w.CAMERAS)
def test_frames_show_the_arm_as_it_moves_at_the_cameras_rate(arm, world, start, view):
    worker = start(world[0], view)
    assert worker.say() == "connected"
    still = worker.frames(12)
    assert len(still["frames"]) == 12
    assert np.ptp(still["frames"][-1], axis=(0, 1)).min() > 60, "a picture, not one colour"
    assert (np.diff(still["stamps"]) > 0).all()
    period_s = (still["stamps"][-1] - still["stamps"][0]) / 11e9
    assert period_s >= 0.048
    assert period_s < 0.055 or still["skipped"] > 0
    move(arm, 0.8)
    moved = worker.frames(2)
    assert moved["stamps"][0] > moved["before"] - 60_000_000, "the newest state is shown"
    change = np.abs(moved["frames"][-1].astype(int) - still["frames"][-1].astype(int)).max(axis=2)
    assert (change > 40).mean() > 0.03
    assert worker.end() == "eye: not connected"


@pytest.mark.gl
@pytest.mark.slow
def test_a_camera_waits_for_the_world_and_says_when_it_has_ended(run_id, start):
    worker = start(run_id, "front")
    arm = SimArm(SimArmConfig(name="follower"), run_id)
    arm.connect()
    assert worker.say() == "connected"
    arm.disconnect()
    assert worker.ask(200) == "eye: the simulated world has ended; connect the sim_arm, then this device, again"
