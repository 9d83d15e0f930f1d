"""From configuration to driver: one exhaustive match, and the only place that imports a family, when asked for it."""

from typing import assert_never

from drivers.configs import (
    ArmConfig,
    CameraConfig,
    Ros2ArmConfig,
    Ros2CameraConfig,
    ServoArmConfig,
    SimArmConfig,
    SimCameraConfig,
    SimTactileConfig,
    TactileConfig,
)
from drivers.protocols import Arm, Camera, TactileSensor


def build_arm(config: ArmConfig, run_id: str) -> Arm:
    """Make the arm that `config` describes; no I/O. `run_id` keeps two stations' simulations apart."""
    match config:
        case SimArmConfig():
            from drivers.sim.arm import SimArm

            return SimArm(config, run_id)
        case Ros2ArmConfig():
            from drivers.ros2.arm import Ros2Arm

            return Ros2Arm(config)
        case ServoArmConfig():
            from drivers.servo.arm import ServoArm

            return ServoArm(config)
        case _:
            assert_never(config)


def build_camera(config: CameraConfig, run_id: str) -> Camera:
    """Make the camera that `config` describes; no I/O."""
    match config:
        case SimCameraConfig():
            from drivers.sim.camera import SimCamera

            return SimCamera(config, run_id)
        case Ros2CameraConfig():
            from drivers.ros2.camera import Ros2Camera

            return Ros2Camera(config)
        case _:
            assert_never(config)


def build_tactile(config: TactileConfig, run_id: str) -> TactileSensor:
    """Make the tactile sensor that `config` describes; no I/O."""
    match config:
        case SimTactileConfig():
            from drivers.sim.tactile import SimTactile

            return SimTactile(config, run_id)
        case _:
            assert_never(config)
