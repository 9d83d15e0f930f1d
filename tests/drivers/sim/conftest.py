import uuid

import pytest

from drivers.configs import SimArmConfig
from drivers.latest_slot import SHARED_MEMORY
from drivers.sim.arm import SimArm


def shared_files(run_id):
    return [path.name for path in SHARED_MEMORY.iterdir() if run_id in path.name]


@pytest.fixture
def run_id():
    run_id = f"test-{uuid.uuid4().hex[:12]}"
    yield run_id
    left = shared_files(run_id)
    for name in left:
        (SHARED_MEMORY / name).unlink()
    assert not left, "a test left files in shared memory"


@pytest.fixture
def arm(run_id):
    arm = SimArm(SimArmConfig(name="follower"), run_id)
    arm.connect()
    yield arm
    arm.disconnect()
