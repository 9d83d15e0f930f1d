import uuid

import pytest

from drivers.configs import SimArmConfig
from drivers.latest_slot import SHARED_MEMORY
from drivers.sim.arm import SimArm


@pytest.fixture
def run_id():
    run_id = f"test-{uuid.uuid4().hex[:12]}"
    yield run_id
    left = [path for path in SHARED_MEMORY.iterdir() if run_id in path.name]
    for path in left:
        path.unlink()
    assert not left, "a test left files in shared memory"


@pytest.fixture(scope="module")
def world():
    """A run id and the connected arm of one world that the tests of a module share."""
    run_id = f"test-{uuid.uuid4().hex[:12]}"
    arm = SimArm(SimArmConfig(name="follower"), run_id)
    arm.connect()
    yield run_id, arm
    arm.disconnect()


@pytest.fixture
def arm(world):
    """The shared arm at home with nothing waiting to be read."""
    _, arm = world
    arm.reset_scene(0)
    while arm.read(0.0) is not None:
        pass
    return arm


@pytest.fixture
def own_arm(run_id):
    """An arm with a world of its own, for tests that end it."""
    arm = SimArm(SimArmConfig(name="follower"), run_id)
    arm.connect()
    yield arm
    arm.disconnect()
