import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drivers.configs import SimArmConfig
from drivers.errors import DriverError
from drivers.latest_slot import SHARED_MEMORY
from drivers.sim.arm import SimArm

PARENT = """
import sys
from drivers.configs import SimArmConfig
from drivers.sim.arm import SimArm

arm = SimArm(SimArmConfig(name="follower"), sys.argv[1])
arm.connect()
print(arm.world_pid(), flush=True)
sys.stdin.read()
"""


def ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def until(condition, limit_s=3.0):
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def files(run_id):
    return [path.name for path in SHARED_MEMORY.iterdir() if run_id in path.name]


@pytest.mark.slow
def test_the_world_ends_and_cleans_up_when_its_parent_is_killed(run_id):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, run_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    world = int(parent.stdout.readline())
    try:
        assert not ended(world)
        assert files(run_id)
        os.kill(parent.pid, signal.SIGKILL)
        parent.communicate()
        assert until(lambda: ended(world))
        assert until(lambda: not files(run_id))
    finally:
        if not ended(world):
            os.kill(world, signal.SIGTERM)


def test_a_world_that_cannot_start_says_why(run_id, monkeypatch, tmp_path):
    (tmp_path / "mujoco.py").write_text("raise ImportError('broken on purpose')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    arm = SimArm(SimArmConfig(name="follower"), run_id)
    with pytest.raises(
        DriverError, match=r"follower: the simulated world did not start: .*teleop-app\[sim\].*on purpose"
    ):
        arm.connect()
    assert not files(run_id)


def test_importing_the_arm_loads_no_mujoco():
    code = "import sys, drivers.sim.arm, drivers.sim.camera, drivers.sim.tactile, drivers.sim.pick_and_place; "
    code += "sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
