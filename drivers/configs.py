"""One frozen model per driver; `DeviceConfig` is their union, told apart by `driver`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


class DriverConfig(BaseModel):
    """What every device has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    """The device's name: lower snake case, unique in the station; also its stream's name on disk."""
    rate_hz: Annotated[float, Field(gt=0, le=2000)]
    """How often samples are expected [Hz]."""
    latency_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Known delay between truth and stamp, subtracted from every stamp [s]."""


class SimArmConfig(DriverConfig):
    """The MuJoCo arm; its first connection starts the world's process."""

    driver: Literal["sim_arm"] = "sim_arm"
    rate_hz: Annotated[float, Field(gt=0, le=500)] = 200.0


class SimCameraConfig(DriverConfig):
    """A camera in the MuJoCo world."""

    driver: Literal["sim_camera"] = "sim_camera"
    rate_hz: Annotated[float, Field(gt=0, le=60)] = 30.0
    camera: Literal["front", "wrist"] = "front"
    width: Annotated[int, Field(ge=64, le=1280)] = 320
    height: Annotated[int, Field(ge=48, le=960)] = 240


class SimTactileConfig(DriverConfig):
    """A touch grid on one finger of the MuJoCo arm."""

    driver: Literal["sim_tactile"] = "sim_tactile"
    rate_hz: Annotated[float, Field(gt=0, le=500)] = 100.0
    pad: Literal["fixed_finger", "moving_finger"] = "fixed_finger"


class Ros2ArmConfig(DriverConfig):
    """An arm behind ROS 2 topics, or a foreign controller that is only listened to (`command_type: none`)."""

    driver: Literal["ros2_arm"] = "ros2_arm"
    rate_hz: Annotated[float, Field(gt=0, le=2000)] = 100.0
    joint_state_topic: str = "/joint_states"
    joints: Annotated[tuple[str, ...], Field(min_length=1)]
    """Joint names in the order wanted; messages are mapped by name."""
    command_type: Literal["none", "joint_trajectory", "forward_command"] = "none"
    command_topic: str | None = None
    point_time_s: Annotated[float, Field(gt=0, le=1)] = 0.03
    """`time_from_start` of the one trajectory point: two to three control periods [s]."""
    wait_for_data: bool = True
    """Whether `connect` waits for a first message; false for a publisher that starts later."""


class Ros2CameraConfig(DriverConfig):
    """A camera topic."""

    driver: Literal["ros2_camera"] = "ros2_camera"
    rate_hz: Annotated[float, Field(gt=0, le=240)] = 30.0
    topic: str
    transport: Literal["raw", "compressed"] = "raw"
    width: Annotated[int, Field(ge=16, le=8192)] = 640
    height: Annotated[int, Field(ge=16, le=8192)] = 480
    wait_for_data: bool = True


class ServoArmConfig(DriverConfig):
    """An arm of serial bus servos."""

    driver: Literal["servo_arm"] = "servo_arm"
    rate_hz: Annotated[float, Field(gt=0, le=500)] = 100.0
    port: str
    """Serial device, preferably by id: /dev/serial/by-id/..."""
    baud: Annotated[int, Field(gt=0)] = 1_000_000
    model: Literal["sts3215"] = "sts3215"
    role: Literal["leader", "follower"] = "leader"
    joints: dict[str, Annotated[int, Field(ge=0, le=252)]]
    """Joint name -> servo id, in joint order."""
    calibration: str | None = None
    """Path of the calibration file, relative to the station file."""


DeviceConfig = Annotated[
    SimArmConfig | SimCameraConfig | SimTactileConfig | Ros2ArmConfig | Ros2CameraConfig | ServoArmConfig,
    Field(discriminator="driver"),
]
ArmConfig = SimArmConfig | Ros2ArmConfig | ServoArmConfig
CameraConfig = SimCameraConfig | Ros2CameraConfig
TactileConfig = SimTactileConfig
