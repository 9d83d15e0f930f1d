"""What a console shows, gathered from a running station about twenty times a second."""

from drivers import clock
from drivers.samples import FloatArray
from recorder.segments import ControlSource
from teleop_app.station.arbiter import ADVICE, HANDOVERS, Phase
from teleop_app.station.messages import (
    HandoverStatus,
    JointStatus,
    LoopStatus,
    StationStatus,
    StreamStatus,
    Verb,
)
from teleop_app.station.recorded_streams import RecordedStream
from teleop_app.station.station import Station


def station_status(station: Station, denied: dict[Verb, str], wanted: int) -> StationStatus:
    """Gather the status as of now."""
    loop, session = station.loop, station.session
    return StationStatus(
        time_ns=clock.now_ns(),
        station=station.config.station,
        mode=station.config.mode,
        control_source=_source(loop.arbiter.source),
        phase=loop.arbiter.phase.value,
        advice=ADVICE[loop.arbiter.phase],
        allowed=tuple(verb for verb in Verb if verb not in denied),
        denied={verb.value: why for verb, why in denied.items()},
        recording=session.recording,
        episode_index=session.index,
        recording_s=session.recording_s,
        task=session.task,
        collection=str(session.collection),
        episodes_done=session.kept,
        episodes_wanted=wanted,
        last_episode=session.message,
        disk_free_s=session.disk.left_s(),
        streams=tuple(_stream(stream) for stream in station.hardware.streams),
        joints=_joints(station),
        handover=_handover(station),
        tactile=_tactile(station),
        policy_latency_ms=_policy_latency_ms(station),
        loop=LoopStatus(
            rate_hz=station.config.control.rate_hz,
            lateness_p99_ms=loop.ticker.lateness_ms(),
            missed=loop.ticker.missed,
            clamps=loop.clamps,
            realtime=loop.realtime,
        ),
        faults=tuple(loop.faults),
        operator=station.config.operator_id,
    )


def _source(source: ControlSource) -> str:
    return source.name.lower()


def _stream(stream: RecordedStream) -> StreamStatus:
    health = stream.health()
    return StreamStatus(
        name=stream.name,
        role=stream.role.value,
        expected_hz=stream.expected_hz,
        rate_hz=health.rate_hz,
        age_s=health.age_s,
        drops=health.drops,
        fault=health.fault or next(iter(health.problems), ""),
        problems=health.problems,
        jitter_ms=_milliseconds(health.jitter_s),
        offset_ms=_milliseconds(health.offset_s),
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _joints(station: Station) -> JointStatus:
    names, tick = station.hardware.joints, station.loop.last_tick
    if not names:
        return _listened_joints(station)
    if tick is None:
        return JointStatus(names=names)
    seen = tick.inputs
    return JointStatus(
        names=names,
        state=_numbers(seen.state),
        sent=_numbers(tick.sent),
        policy=_numbers(seen.policy.position) if seen.policy is not None and tick.policy_valid else None,
        operator=_numbers(seen.operator.position) if seen.operator is not None and tick.operator_valid else None,
    )


def _listened_joints(station: Station) -> JointStatus:
    """A passive station's joints: the first measured arm, and the foreign controller's command for it."""
    action = station.config.action
    states = [name for name in station.hardware.joint_streams if name != action]
    if not states:
        return JointStatus()
    state = station.hardware.joint_streams[states[0]].reader.latest
    command = station.hardware.joint_streams[action].reader.latest if action is not None else None
    return JointStatus(
        names=station.hardware.arms[states[0]].joint_names,
        state=_numbers(state.position if state is not None else None),
        sent=_numbers(command.position if command is not None else None),
    )


def _numbers(values: FloatArray | None) -> tuple[float, ...] | None:
    """JSON has no NaN; a vector with one is not shown."""
    if values is None or (values != values).any():
        return None
    return tuple(values.tolist())


def _handover(station: Station) -> HandoverStatus | None:
    phase = station.loop.arbiter.phase
    if phase not in (*HANDOVERS, Phase.RESUME, Phase.SETTLE):
        return None
    progress, errors = station.loop.handover
    return HandoverStatus(
        progress=progress,
        errors=tuple(errors.tolist()) if errors is not None and phase in HANDOVERS else (),
        tolerance=station.config.control.handover.align_tolerance,
        ready=phase is Phase.READY,
    )


def _tactile(station: Station) -> dict[str, list[list[float]]]:
    """Forces normal to each pad: the last axis's norm [N]."""
    shown: dict[str, list[list[float]]] = {}
    for name, stream in station.hardware.tactile.items():
        newest = stream.reader.latest
        if newest is not None:
            shown[name] = [[float(abs(cell).max()) for cell in row] for row in newest.force]
    return shown


def _policy_latency_ms(station: Station) -> float | None:
    newest = station.policy_runner.latest if station.policy_runner is not None else None
    return newest.latency_s * 1e3 if newest is not None else None
