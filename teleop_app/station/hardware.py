"""Everything attached to a station, built from its file and connected together."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np

from drivers.build import build_arm, build_tactile
from drivers.configs import Ros2CameraConfig, SimCameraConfig, SimTactileConfig
from drivers.errors import DeviceConfigError, DriverError, NotConnectedError
from drivers.polling import PollingReader
from drivers.protocols import Arm, Scene
from drivers.samples import JointState, TactileSample, frozen_array
from recorder.errors import RecorderError
from recorder.streams import StreamRole
from teleop_app.station.camera_stream import CameraStream
from teleop_app.station.config import ARM_CONFIGS, LeaderConfig, LimitsConfig, StationConfig
from teleop_app.station.follower import Follower
from teleop_app.station.limits import Limits
from teleop_app.station.operator_source import LeaderSource, joint_order
from teleop_app.station.recorded_streams import LocalStream, RecordedStream, Spec
from teleop_app.station.recording import joint_spec, joint_values, tactile_spec, tactile_values
from teleop_app.station.worker_link import WorkerLink

CAMERA_CONFIGS = (SimCameraConfig, Ros2CameraConfig)


log = logging.getLogger(__name__)


class Hardware:
    """The devices of one station. Building does no I/O; `connect` reports every failure in one error."""

    def __init__(self, config: StationConfig, run_id: str) -> None:
        """Build every device of `config`; `run_id` tells this run's shared memory from other runs'."""
        self.config = config
        self.arms: dict[str, Arm] = {}
        self.joint_streams: dict[str, LocalStream[JointState]] = {}
        self.tactile: dict[str, LocalStream[TactileSample]] = {}
        self.cameras: dict[str, CameraStream] = {}
        for device in config.devices:
            if isinstance(device, ARM_CONFIGS):
                self._add_arm(build_arm(device, run_id), device.name)
            elif isinstance(device, CAMERA_CONFIGS):
                self.cameras[device.name] = CameraStream(WorkerLink(device, run_id))
            else:
                self._add_tactile(device, run_id)

    @property
    def streams(self) -> tuple[RecordedStream, ...]:
        """Every recorded device channel."""
        return (*self.joint_streams.values(), *self.tactile.values(), *self.cameras.values())

    @property
    def scene(self) -> Scene | None:
        """The workcell that can be reset and inspected, if one of the arms lives in one."""
        return next((cast("Scene", arm) for arm in self.arms.values() if isinstance(arm, Scene)), None)

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints of the follower; none in a passive station."""
        return self.arms[self.config.follower].joint_names if self._active and self.config.follower else ()

    @property
    def _active(self) -> bool:
        return self.config.mode == "active"

    def connect(self) -> None:
        """Connect all devices at the same time; if one fails, disconnect all.

        Raises:
            NotConnectedError: every device that failed, with its cause.
        """
        failures: dict[str, Exception] = {}
        with ThreadPoolExecutor(max_workers=max(1, len(self.streams))) as pool:
            jobs = {stream.name: pool.submit(stream.connect) for stream in self.streams}
            for name, job in jobs.items():
                try:
                    job.result()
                except (DriverError, RecorderError, OSError) as error:
                    failures[name] = error
        if failures:
            self.disconnect()
            raise NotConnectedError(failures)

    def disconnect(self) -> None:
        """Disconnect all, cameras first so that nothing asks a world that is gone; works from any partial state."""
        in_order: list[RecordedStream] = [*self.cameras.values(), *self.tactile.values(), *self.joint_streams.values()]
        for stream in in_order:
            stream.disconnect()

    def moving_arms(self) -> list[tuple[PollingReader[JointState], float]]:
        """Arms that a camera may see move, each with the speed at which it does [rad/s]."""
        seen = [stream for stream in self.joint_streams.values() if stream.role is StreamRole.STATE]
        return [(stream.reader, stream.config.health.moving_rad_s) for stream in seen]

    def tell_cameras(self, *, moving: bool) -> None:
        """Tell every camera whether an arm moves."""
        for camera in self.cameras.values():
            try:
                camera.arm_moves(moving=moving)
            except DriverError as error:
                log.debug("%s", error)  # its process has ended, and its health says so

    def follower(self) -> Follower | None:
        """The arm that acts with its limits; None in a passive station."""
        name = self.config.follower
        if not self._active or name is None:
            return None
        arm = self.arms[name]
        limits = _limits(self.config.control.limits, arm.joint_names, name)
        return Follower(arm, self.joint_streams[name].reader, limits)

    def leader(self, config: LeaderConfig) -> LeaderSource:
        """The operator's leader arm, mapped by joint name."""
        order = joint_order(self.arms[config.device].joint_names, self.joints)
        if isinstance(order, str):
            raise DeviceConfigError(f"{config.device}: {order}")
        return LeaderSource(self.joint_streams[config.device].reader, order)

    def _add_arm(self, arm: Arm, name: str) -> None:
        device = self.config.device(name)
        role = self._role(name)

        def describe(stream: LocalStream[JointState]) -> Spec:
            return joint_spec(device, role, arm.joint_names, arm.facts(), stream.stamp_source)

        self.arms[name] = arm
        self.joint_streams[name] = LocalStream(device, arm, arm.read, role, describe, joint_values)

    def _add_tactile(self, device: SimTactileConfig, run_id: str) -> None:
        pad = build_tactile(device, run_id)

        def describe(stream: LocalStream[TactileSample]) -> Spec:
            newest = stream.reader.latest
            if newest is None:
                raise DriverError(f"{device.name}: nothing has arrived yet, so its shape is not known")
            return tactile_spec(device, newest.force.shape, pad.facts(), stream.stamp_source)

        self.tactile[device.name] = LocalStream(
            device,
            pad,
            pad.read,
            StreamRole.TACTILE,
            describe,
            tactile_values,
        )

    def _role(self, name: str) -> StreamRole:
        if name == self.config.action:
            return StreamRole.ACTION
        if isinstance(self.config.operator, LeaderConfig) and name == self.config.operator.device:
            return StreamRole.OPERATOR
        return StreamRole.STATE


def _limits(config: LimitsConfig, joints: tuple[str, ...], arm: str) -> Limits:
    """Limits of `arm`, joint by joint; a station file with the wrong number of bounds is refused."""
    bounds = []
    for field, values, default in (("lower", config.lower, -np.inf), ("upper", config.upper, np.inf)):
        if values is not None and len(values) != len(joints):
            raise DeviceConfigError(
                f"control.limits.{field}: {len(values)} values for {len(joints)} joints of {arm}: {', '.join(joints)}"
            )
        bounds.append(frozen_array(values if values is not None else np.full(len(joints), default)))
    return Limits(bounds[0], bounds[1], config.velocity, config.acceleration, config.lag)
