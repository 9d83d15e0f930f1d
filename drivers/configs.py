"""One frozen model per driver; `DeviceConfig` is their union, told apart by `driver`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]


Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]


class HealthLimits(BaseModel):
    """What is still well for a stream. A device's own limits stand before the station's, field by field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slow_below: Share = 0.95
    """Least measured rate, as a share of `rate_hz`."""
    fast_above: Annotated[float, Field(ge=1)] = 1.1
    """Largest measured rate, as a share of `rate_hz`."""
    jitter_periods: Annotated[float, Field(gt=0)] = 0.75
    """95 of 100 intervals must differ by no more from the median interval [expected periods]."""
    gap_periods: Annotated[float, Field(gt=0)] = 5.0
    """Longest interval between samples, and longest silence [expected periods]; never less than `gap_s`."""
    gap_s: Seconds = 0.1
    silent_edges: bool = False
    """Whether it may be silent where an episode begins and ends, as it is where silence ends the episodes."""
    stale_s: Seconds = 0.25
    """How long a device may repeat a sample with its old stamp [s]."""
    same_content_s: Seconds | None = None
    """How long samples with new stamps may have the same content [s]; None is not judged: a resting arm repeats itself,
    and a camera is judged by `frozen_s`."""
    drops: Annotated[int, Field(ge=0)] = 0
    """Samples that may be lost within `window_s`."""
    offset_s: Seconds = 0.25
    """Longest time from truth to arrival beyond `latency_s` [s]."""
    future_s: Annotated[float, Field(ge=0)] = 0.02
    """How far a stamp may lie after its arrival: the error of mapping a device's clock [s]."""
    drift_s: Seconds = 0.05
    """How far the offset may move from where it was at first [s]."""
    window_s: Annotated[float, Field(ge=0.5, le=30)] = 2.0
    """Rate, jitter, drops and offset are judged over so long [s]."""
    moving_rad_s: Annotated[float, Field(gt=0)] = 0.1
    """An arm: one of its joints must be so fast for the arm to move, which a frozen camera is judged by [rad/s]."""
    frozen_s: Seconds | None = 0.5
    """A camera: how long it may show the same picture while an arm moves [s]; None for one that sees no arm."""
    frozen_levels: Annotated[int, Field(ge=0, le=255)] = 2
    """A camera: pictures are the same if no point of their reductions differs by more [levels of 255]."""
    black_below: Annotated[float, Field(ge=0, le=255)] = 8.0
    """A camera: mean brightness below which it is black [levels of 255]."""
    saturated_above: Share = 0.3
    """A camera: share of white points above which it is overexposed."""
    blurred_below: Share = 0.35
    """A camera: sharpness below which it is blurred, as a share of its own in the first seconds; 0 is not judged."""
    bad_picture_s: Seconds = 0.5
    """A camera: how long it may be black, overexposed or blurred [s]."""

    def under(self, own: "HealthLimits") -> "HealthLimits":
        """These limits with those that `own` states in their place."""
        return HealthLimits.model_validate({**self.model_dump(), **own.model_dump(exclude_unset=True)})


class DriverConfig(BaseModel):
    """What every device has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    """The device's name: lower snake case, unique in the station; also its stream's name on disk."""
    rate_hz: Annotated[float, Field(gt=0, le=2000)]
    """How often samples are expected [Hz]."""
    latency_s: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Known delay between truth and stamp, subtracted from every stamp [s]."""
    health: HealthLimits = HealthLimits()
    """Limits that are this device's own; the station's hold for the rest."""


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


ServoModelName = Literal[
    "sts3215",
    "xl330-m077",
    "xl330-m288",
    "xc330-t181",
    "xc330-t288",
    "xl430-w250",
    "xm430-w210",
    "xm430-w350",
    "xm540-w270",
]


class ServoArmConfig(DriverConfig):
    """An arm of serial bus servos."""

    driver: Literal["servo_arm"] = "servo_arm"
    rate_hz: Annotated[float, Field(gt=0, le=500)] = 100.0
    port: str
    """Serial device, preferably by id: /dev/serial/by-id/..."""
    baud: Annotated[int, Field(gt=0)] | None = None
    """Speed of the bus [bit/s]; None is that of the model as it comes from the factory."""
    model: ServoModelName = "sts3215"
    """Type of the servos; it also says which protocol they speak."""
    joint_models: dict[str, ServoModelName] = {}
    """Joint name -> type, for joints of another type of the same family."""
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
