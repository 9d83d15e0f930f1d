"""Driver samples as recorder streams: the only file that knows both vocabularies."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from drivers.configs import DriverConfig
from drivers.samples import JointState, TactileSample
from recorder.segments import ControlSource
from recorder.streams import FieldSpec, ImageStreamSpec, NumericStreamSpec, StreamRole
from recorder.write_queue import row_bytes
from teleop_app.station.arbiter import Phase
from teleop_app.station.limits import Clamp

CONTROL_STREAM = "control"


def device_facts(config: DriverConfig, facts: Mapping[str, object]) -> dict[str, object]:
    """Driver name, configuration and what the device said of itself."""
    return {"config": config.model_dump(mode="json"), **facts}


def joint_spec(
    config: DriverConfig, role: StreamRole, joints: tuple[str, ...], facts: Mapping[str, object], stamp_source: str
) -> NumericStreamSpec:
    """Stream of an arm's measured joints, or of a foreign controller's commands."""

    def joint_field(name: str, unit: str) -> FieldSpec:
        return FieldSpec(name=name, shape=(len(joints),), dims=("joint",), unit=unit, labels=joints)

    return NumericStreamSpec(
        name=config.name,
        role=role,
        rate_hz=config.rate_hz,
        device=device_facts(config, facts),
        stamp_source=stamp_source,
        latency_s=config.latency_s,
        fields=(joint_field("position", "rad"), joint_field("velocity", "rad/s"), joint_field("effort", "N m")),
    )


def joint_values(sample: JointState) -> dict[str, Any]:
    """One row of a joint stream."""
    return {"position": sample.position, "velocity": sample.velocity, "effort": sample.effort}


def tactile_spec(
    config: DriverConfig, shape: tuple[int, ...], facts: Mapping[str, object], stamp_source: str
) -> NumericStreamSpec:
    """Stream of a tactile pad."""
    return NumericStreamSpec(
        name=config.name,
        role=StreamRole.TACTILE,
        rate_hz=config.rate_hz,
        device=device_facts(config, facts),
        stamp_source=stamp_source,
        latency_s=config.latency_s,
        fields=(FieldSpec(name="force", dtype="float32", shape=shape, dims=("row", "column", "axis"), unit="N"),),
    )


def tactile_values(sample: TactileSample) -> dict[str, Any]:
    """One row of a tactile stream."""
    return {"force": sample.force}


def image_spec(
    config: DriverConfig, size: tuple[int, int], facts: Mapping[str, object], stamp_source: str
) -> ImageStreamSpec:
    """Stream of a camera; `size` is height and width [px]."""
    return ImageStreamSpec(
        name=config.name,
        rate_hz=config.rate_hz,
        device=device_facts(config, facts),
        stamp_source=stamp_source,
        latency_s=config.latency_s,
        height=size[0],
        width=size[1],
    )


def control_spec(rate_hz: float, joints: tuple[str, ...]) -> NumericStreamSpec:
    """The control loop's own stream; without joints (a passive station) only ticks and sources."""
    scalars = (
        FieldSpec(name="deadline", dtype="int64", unit="ns", description="When the tick was due, monotonic clock."),
        FieldSpec(name="source", dtype="uint8", codes={source.name.lower(): source.value for source in ControlSource}),
        FieldSpec(name="phase", dtype="uint8", codes={phase.value: code for phase, code in PHASE_CODES.items()}),
    )
    if not joints:
        return NumericStreamSpec(name=CONTROL_STREAM, role=StreamRole.CONTROL, rate_hz=rate_hz, fields=scalars)

    def joint_field(name: str, description: str) -> FieldSpec:
        return FieldSpec(
            name=name, shape=(len(joints),), dims=("joint",), unit="rad", labels=joints, description=description
        )

    active = (
        FieldSpec(name="blend", description="Share of whoever takes over in the command sent, 0 to 1."),
        joint_field("operator_action", "The operator's device, mapped to the follower's joints."),
        FieldSpec(name="operator_valid", dtype="bool", description="Whether operator_action is fresh."),
        joint_field("policy_action", "The policy's proposal, also while the operator acts."),
        FieldSpec(name="policy_valid", dtype="bool", description="Whether policy_action is fresh."),
        FieldSpec(name="policy_time", dtype="int64", unit="ns", description="When the proposal was made; 0 if none."),
        joint_field("sent", "The command after all limits, as sent."),
        joint_field("state", "The newest measured position that the tick had."),
        FieldSpec(name="state_time", dtype="int64", unit="ns", description="Stamp of state; 0 if none."),
        FieldSpec(name="clamps", dtype="uint8", codes={str(clamp.name).lower(): clamp.value for clamp in Clamp}),
    )
    return NumericStreamSpec(name=CONTROL_STREAM, role=StreamRole.CONTROL, rate_hz=rate_hz, fields=scalars + active)


def expected_bytes_s(spec: NumericStreamSpec | ImageStreamSpec) -> float:
    """What a stream takes of the disk before anything is measured, a JPEG at 2 bits a pixel [bytes/s]."""
    if isinstance(spec, ImageStreamSpec):
        return spec.rate_hz * spec.height * spec.width / 4
    return spec.rate_hz * row_bytes(spec)


PHASE_CODES: dict[Phase, int] = {phase: code for code, phase in enumerate(Phase)}
"""What the control stream's `phase` stores."""


def nothing(count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """NaN for a joint vector that was not there; shape (count,)."""
    return np.full(count, np.nan)
