"""The station file: everything attached to one workcell, as frozen models read from YAML."""

import hashlib
import json
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from drivers.configs import (
    DeviceConfig,
    DriverConfig,
    HealthLimits,
    Name,
    Ros2ArmConfig,
    ServoArmConfig,
    SimArmConfig,
)
from recorder.segments import CollectionMode

ARM_CONFIGS = (SimArmConfig, Ros2ArmConfig, ServoArmConfig)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LimitsConfig(_Model):
    """What every command must respect, whoever it comes from."""

    velocity: Annotated[float, Field(gt=0)] = 2.0
    """[rad/s]."""
    acceleration: Annotated[float, Field(gt=0)] = 20.0
    """[rad/s^2]."""
    lag: Annotated[float, Field(gt=0)] = 0.5
    """Largest distance of a command from the measured position [rad]."""
    lower: tuple[float, ...] | None = None
    """Lowest position, joint by joint [rad]."""
    upper: tuple[float, ...] | None = None
    """Highest position, joint by joint [rad]."""


class HandoverConfig(_Model):
    """How control changes hands."""

    engage_s: Annotated[float, Field(ge=0, le=2)] = 0.3
    """Blend from the frozen command to the operator's [s]."""
    settle_s: Annotated[float, Field(ge=0, le=2)] = 0.2
    """Hold between the operator's last command and the policy's first [s]."""
    resume_s: Annotated[float, Field(ge=0, le=2)] = 0.3
    """Blend from the held command to the policy's [s]."""
    align_tolerance: Annotated[float, Field(gt=0)] = 0.05
    """Largest difference between leader and follower, joint by joint, to engage [rad]."""
    align_s: Annotated[float, Field(ge=0)] = 0.2
    """How long it must be aligned [s]."""
    resume_max_jump: Annotated[float, Field(gt=0)] = 0.3
    """Largest difference of the policy's first action from the held command [rad]."""


class WatchdogConfig(_Model):
    """Silence that holds the arm, and silence that latches a fault."""

    hold_s: Annotated[float, Field(gt=0, le=1)] = 0.1
    """[s]."""
    disengage_s: Annotated[float, Field(gt=0, le=5)] = 0.5
    """[s]."""


class ControlConfig(_Model):
    """The control loop."""

    rate_hz: Annotated[float, Field(ge=10, le=1000)] = 200.0
    limits: LimitsConfig = LimitsConfig()
    handover: HandoverConfig = HandoverConfig()
    watchdog: WatchdogConfig = WatchdogConfig()


class ScriptedSimPolicyConfig(_Model):
    """Pick-and-place in the MuJoCo world, missing the block on purpose in some attempts."""

    kind: Literal["scripted_sim"] = "scripted_sim"
    rate_hz: Annotated[float, Field(gt=0, le=200)] = 50.0
    fail_every: Annotated[int, Field(ge=0)] = 2
    """Every n-th attempt misses, starting with the first; 0 never misses."""
    miss: tuple[float, float] = (0.04, 0.0)
    """Where a missing attempt aims, beside the block, x and y [m]."""


class LeaderConfig(_Model):
    """A leader arm of the station, mapped joint by joint."""

    kind: Literal["leader"] = "leader"
    device: Name


class ScriptedSimOperatorConfig(_Model):
    """An operator for the MuJoCo world: demonstrates, and takes over when the policy has missed."""

    kind: Literal["scripted_sim"] = "scripted_sim"
    rate_hz: Annotated[float, Field(gt=0, le=200)] = 50.0
    autonomous: bool = True
    """Whether it asks for takeover and release by itself; otherwise it only supplies actions."""


class ScriptedEdge(_Model):
    """One request at a time after the episode's start."""

    at_s: Annotated[float, Field(ge=0)]
    request: Literal["takeover", "release"]


class ScriptedEdgesConfig(_Model):
    """Takeover and release at fixed times, for rehearsals and for a passive station."""

    kind: Literal["edges"] = "edges"
    edges: tuple[ScriptedEdge, ...] = ()


OperatorConfig = Annotated[LeaderConfig | ScriptedSimOperatorConfig | ScriptedEdgesConfig, Field(discriminator="kind")]


class HealthGate(StrEnum):
    """What a stream out of its limits means for an episode."""

    OFF = "off"
    """It is shown and summarised, nothing else."""
    MARK = "mark"
    """The interval is marked in the episode by an event."""
    REFUSE = "refuse"
    """No episode is started meanwhile; in an open episode the interval is marked."""


class EpisodesConfig(_Model):
    """How episodes begin and end when nobody presses a key."""

    modes: Annotated[tuple[CollectionMode, ...], Field(min_length=1)] = (CollectionMode.TELEOP_DEMO,)
    """Collection mode of the first, second, ... episode; the last one is repeated."""
    stop_after_silence_s: Annotated[float, Field(gt=0)] | None = None
    """End an episode when every device that has delivered in it has been silent for so long [s]."""
    keep_before_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    """An episode begins so long before it was asked for, from what the streams' buffers still hold [s]."""
    least_free_mb: Annotated[float, Field(ge=20)] = 500.0
    """No episode is started with less free disk; an open one is closed at half of it [MB]."""
    least_free_minutes: Annotated[float, Field(ge=0)] = 2.0
    """No episode is started with less recording time left at the measured rate [minutes]."""
    health_gate: HealthGate = HealthGate.MARK
    seed: int = 0
    """Scene seed of the first episode; the next ones count up."""


class StationConfig(_Model):
    """One workcell."""

    station: Name
    robot: str = ""
    """What the follower is, for the data sets made from its episodes; the station's name if empty."""
    mode: Literal["active", "passive"] = "active"
    """Passive: a foreign controller commands, the station only records and tags."""
    task: str = ""
    operator_id: str = "operator"
    scenario_id: str = ""
    """Which initial condition or experiment the episodes belong to."""
    follower: Name | None = None
    """The arm that acts; needed in an active station."""
    action: Name | None = None
    """Passive station: the device that delivers the foreign controller's commands."""
    health: HealthLimits = HealthLimits()
    """Limits of every stream, where a device does not state its own."""
    devices: Annotated[tuple[DeviceConfig, ...], Field(min_length=1)]
    """Each with its limits complete, once read."""
    control: ControlConfig = ControlConfig()
    policy: ScriptedSimPolicyConfig | None = None
    operator: OperatorConfig | None = None
    episodes: EpisodesConfig = EpisodesConfig()
    ros_discovery_range: Literal["LOCALHOST", "SUBNET"] = "LOCALHOST"
    """How far ROS 2 looks for peers; wider than this host only on purpose."""

    @field_validator("devices")
    @classmethod
    def _complete_limits(cls, devices: tuple[DriverConfig, ...], info: ValidationInfo) -> tuple[DriverConfig, ...]:
        station = info.data.get("health")
        if station is None:  # it is wrong itself, and said to be
            return devices
        return tuple(device.model_copy(update={"health": station.under(device.health)}) for device in devices)

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [device.name for device in self.devices]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"devices: the name {repeated[0]!r} is used twice")
        if "control" in names:
            raise ValueError("devices: the name 'control' is taken by the control loop's own stream")
        if self.mode == "active" and self.follower is None:
            raise ValueError("follower: an active station needs the name of one of its arms")
        leader = self.operator.device if isinstance(self.operator, LeaderConfig) else None
        for field, name in (("follower", self.follower), ("action", self.action), ("operator.device", leader)):
            if name is not None:
                self._need_arm(field, name)
        return self

    def _need_arm(self, field: str, name: str) -> None:
        arms = [device.name for device in self.devices if isinstance(device, ARM_CONFIGS)]
        if name not in arms:
            raise ValueError(f"{field}: there is no arm {name!r}; arms here: {', '.join(arms) or 'none'}")

    def device(self, name: str) -> DriverConfig:
        """The device of that name."""
        return next(device for device in self.devices if device.name == name)

    def as_json(self) -> dict[str, Any]:
        """The station as plain JSON values, for an episode's provenance."""
        return self.model_dump(mode="json")

    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        canonical = json.dumps(self.as_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
