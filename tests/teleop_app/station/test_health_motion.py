"""Cameras are told when an arm begins to move and when it has come to rest, and nothing else."""

import numpy as np

from drivers.samples import JointState, frozen_array
from teleop_app.station.health_motion import STILL_AFTER_NS, ArmMotion

STEP_NS = 100_000_000


class Arm:
    latest: JointState | None = None

    def at(self, now_ns: int, *position: float) -> None:
        nothing = frozen_array(np.full(len(position), np.nan))
        self.latest = JointState(now_ns, now_ns, frozen_array(position), nothing, nothing)


def told(positions: list[tuple[float, ...]], speed: float = 0.1) -> list[tuple[int, bool]]:
    arm, said = Arm(), []
    motion = ArmMotion([(arm, speed)], lambda *, moving: said.append((step, moving)))
    for step, position in enumerate(positions):
        arm.at((step + 1) * STEP_NS, *position)
        motion.look((step + 1) * STEP_NS)
    return said


def test_a_motion_has_one_beginning_and_one_end() -> None:
    path = [(0.0, 0.0)] * 3 + [(0.0, 0.05 * step) for step in range(1, 6)] + [(0.0, 0.25)] * 10
    assert told(path) == [(3, True), (7 + STILL_AFTER_NS // STEP_NS, False)]


def test_turning_round_is_no_rest_and_creeping_no_motion() -> None:
    assert told([(0.02 * abs(step % 8 - 4),) for step in range(40)]) == [(1, True)]
    assert told([(0.005 * step,) for step in range(40)]) == []


def test_a_silent_arm_or_one_without_numbers_does_not_move() -> None:
    arm, said = Arm(), []
    motion = ArmMotion([(arm, 0.1)], lambda *, moving: said.append(moving))
    motion.look(STEP_NS)
    arm.at(STEP_NS, np.nan)
    motion.look(2 * STEP_NS)
    arm.at(3 * STEP_NS, np.nan)
    motion.look(3 * STEP_NS)
    assert said == []


def test_it_stops_from_any_state() -> None:
    motion = ArmMotion([(Arm(), 0.1)], lambda *, moving: None)
    motion.stop()
    started = ArmMotion([(Arm(), 0.1)], lambda *, moving: None)
    started.start()
    started.stop()
    started.stop()
