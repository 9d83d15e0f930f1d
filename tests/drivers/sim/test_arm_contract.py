"""The simulated arm does what every follower must do."""

from collections.abc import Iterator

import numpy as np
import pytest

from drivers.configs import SimArmConfig
from drivers.samples import FloatArray, frozen_array
from drivers.sim.arm import SimArm
from drivers.sim.workcell import HOME
from tests.contracts.arm import ArmContract

pytestmark = pytest.mark.slow


class TestSimArm(ArmContract):
    @pytest.fixture
    def arm(self, run_id: str) -> Iterator[SimArm]:  # type: ignore[override]
        arm = SimArm(SimArmConfig(name="follower"), run_id)
        yield arm
        arm.disconnect()

    @pytest.fixture
    def reachable(self) -> FloatArray:
        return frozen_array(np.array(HOME) + 0.1)
