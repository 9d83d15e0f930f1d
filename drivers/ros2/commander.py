"""Sends joint targets to a ros2_control controller: trajectory or forward command. Keeps nothing but counts."""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from drivers import clock
from drivers.configs import Ros2ArmConfig
from drivers.errors import CommandRejectedError
from drivers.ros2.executor import RosRuntime, check_topic_name
from drivers.samples import FloatArray

FLUSH_S = 0.2
"""How long `close` waits until the controller has the last command [s]."""
LISTENER_POLL_S = 0.02


class JointCommander:
    """Publishes the commands of one arm: reliable, depth 1, so that only the newest target counts."""

    def __init__(self, runtime: RosRuntime, config: Ros2ArmConfig) -> None:
        """Prepare; no I/O.

        Args:
            runtime: Started.
            config: With a `command_topic` and a `command_type` other than none.
        """
        self._runtime, self._config = runtime, config
        self._publisher: Any = None
        self._sending = threading.Lock()
        self.sent = 0
        """Commands published since `open`."""

    def open(self) -> None:
        """Advertise the command topic.

        Raises:
            DeviceConfigError: the topic's name is not valid.
        """
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        message_class = JointTrajectory if self._config.command_type == "joint_trajectory" else Float64MultiArray
        topic = str(self._config.command_topic)
        check_topic_name(topic)
        self._publisher = self._runtime.call(lambda: self._runtime.node.create_publisher(message_class, topic, 1))

    def close(self) -> None:
        """Give the controller a moment to take the last command, then end; idempotent."""
        with self._sending:
            publisher, self._publisher = self._publisher, None
        if publisher is None:
            return
        if self.sent:
            from rclpy.duration import Duration

            publisher.wait_for_all_acked(Duration(nanoseconds=int(FLUSH_S * 1e9)))
        self._runtime.call(lambda: self._runtime.node.destroy_publisher(publisher))

    def await_listener(self, timeout_s: float) -> bool:
        """Wait until a controller listens, at most `timeout_s`; tell whether one does."""
        deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
        pause = threading.Event()
        while not (listening := self._publisher.get_subscription_count() > 0) and clock.now_ns() < deadline_ns:
            pause.wait(LISTENER_POLL_S)
        return bool(listening)

    def send(self, position: FloatArray) -> None:
        """Publish one target [rad or m], shape (n_joints,).

        Raises:
            CommandRejectedError: wrong shape, not finite, not open, or no controller listens; nothing was sent.
        """
        name, joints = self._config.name, self._config.joints
        values = np.asarray(position, dtype=np.float64)
        if values.shape != (len(joints),):
            raise CommandRejectedError(f"{name}: command has shape {values.shape}, expected ({len(joints)},); not sent")
        if not np.isfinite(values).all():
            wrong = [joint for joint, value in zip(joints, values, strict=True) if not np.isfinite(value)]
            raise CommandRejectedError(f"{name}: command is not finite for {', '.join(wrong)}; not sent")
        with self._sending:
            if self._publisher is None or self._publisher.get_subscription_count() == 0:
                raise CommandRejectedError(f"{name}: no controller listens on {self._config.command_topic}; not sent")
            self._publisher.publish(self._message(values))
            self.sent += 1

    def facts(self) -> Mapping[str, object]:
        """Topic, commands sent and listeners, JSON-ready."""
        listeners = 0 if self._publisher is None else self._publisher.get_subscription_count()
        return {"topic": self._config.command_topic, "sent": self.sent, "listeners": listeners}

    def _message(self, values: FloatArray) -> Any:
        if self._config.command_type == "forward_command":
            from std_msgs.msg import Float64MultiArray

            return Float64MultiArray(data=values.tolist())
        from builtin_interfaces.msg import Duration
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        seconds, nanoseconds = divmod(round(self._config.point_time_s * 1e9), 1_000_000_000)
        time_from_start = Duration(sec=seconds, nanosec=nanoseconds)
        point = JointTrajectoryPoint(positions=values.tolist(), time_from_start=time_from_start)
        return JointTrajectory(joint_names=list(self._config.joints), points=[point])  # header stamp 0: start now
