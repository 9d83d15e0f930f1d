"""An arm behind ROS 2 topics: JointState in, a one-point trajectory or a forward command out, or nothing at all."""

import logging
from collections import deque
from collections.abc import Mapping

from drivers import clock
from drivers.configs import Ros2ArmConfig
from drivers.errors import CommandRejectedError, DeviceConfigError, DriverError
from drivers.ros2.commander import JointCommander
from drivers.ros2.joint_messages import JointMapper
from drivers.ros2.stamps import HeaderClock
from drivers.ros2.subscription import Received, TopicSubscription
from drivers.samples import JointCommand, JointState

log = logging.getLogger(__name__)

CONNECT_WAIT_S = 5.0
"""How long `connect` waits for a first complete message [s]."""
INCOMPLETE_WAIT_S = 1.5
"""How long messages without our joints may arrive before the missing names are reported [s]."""
QUEUE_S = 10.0
SMALLEST_QUEUE = 1000


class Ros2Arm:
    """Implements `drivers.protocols.Arm`; with `command_type: none` it only listens."""

    def __init__(self, config: Ros2ArmConfig, wait_s: float = CONNECT_WAIT_S) -> None:
        """Prepare; no I/O.

        Args:
            config: Topics, joints and the kind of command.
            wait_s: How long `connect` waits for data, if the configuration asks it to [s].
        """
        self.name = config.name
        self.joint_names = config.joints
        self._config, self._wait_s = config, wait_s
        self._reset()

    def _reset(self) -> None:
        depth = max(SMALLEST_QUEUE, int(QUEUE_S * self._config.rate_hz))
        self._subscription = TopicSubscription(self._config.joint_state_topic, "sensor_msgs/msg/JointState", depth)
        self._mapper = JointMapper(self._config.joints)
        self._header_clock = HeaderClock()
        self._commander: JointCommander | None = None
        self._unread: deque[JointState] = deque()
        self._last: JointState | None = None
        self._first_incomplete_ns = 0
        self._connected = False

    def connect(self) -> None:
        """Subscribe, and wait for a first complete message if configured.

        Raises:
            DriverError: no ROS 2, no data, another message type, no compatible QoS, or joints that no message has.
            DeviceConfigError: doubled joints, a command without a topic, or a topic name that is not valid.
        """
        if self._connected:
            return
        self._check_config()
        self._reset()
        try:
            self._open()
            if self._config.wait_for_data:
                self._await_first()
        except DriverError:
            self.disconnect()
            raise

    def disconnect(self) -> None:
        """Hold if it was commanding, then release everything; idempotent."""
        commander, self._commander = self._commander, None
        if commander is not None:
            if commander.sent > 0 and self._last is not None:
                try:
                    commander.send(self._last.position)
                except CommandRejectedError as error:
                    log.warning("no hold before disconnecting: %s", error)
            commander.close()
        self._subscription.close()
        self._connected = False

    def read(self, timeout_s: float) -> JointState | None:
        """Return the next sample, each message once and in order; None after `timeout_s` without one.

        Raises:
            DriverError: nothing can arrive (wrong type, no compatible QoS), or no message has our joints.
        """
        if self._unread:
            return self._unread.popleft()
        deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
        while (received := self._subscription.get((deadline_ns - clock.now_ns()) / 1e9)) is not None:
            if (sample := self._convert(received)) is not None:
                return sample
            if clock.now_ns() >= deadline_ns:
                break
        self._check_names()
        return None

    def command(self, command: JointCommand) -> JointCommand:
        """Send positions; return what was sent.

        Raises:
            CommandRejectedError: passive, not connected, wrong length, not finite, or nobody listens.
        """
        if self._config.command_type == "none":
            raise CommandRejectedError(
                f"{self.name} is passive (command_type: none): it only listens, nothing was sent"
            )
        if self._commander is None:
            raise CommandRejectedError(f"{self.name} is not connected: nothing was sent")
        self._commander.send(command.position)
        return command

    def hold(self) -> None:
        """Send the measured position once as the target; does nothing when passive.

        Raises:
            CommandRejectedError: not connected, nothing measured yet, or nobody listens.
        """
        if self._config.command_type == "none":
            return
        if self._commander is None or self._last is None:
            raise CommandRejectedError(f"{self.name} cannot hold: no position has been measured yet")
        self._commander.send(self._last.position)

    def dropped(self) -> int:
        """Messages lost by queue or middleware, and those rejected because their values were not valid."""
        return self._subscription.lost + self._mapper.rejected

    def facts(self) -> Mapping[str, object]:
        """Topics, QoS, publishers, counts, and which stamps were used."""
        return {
            "driver": self._config.driver,
            "joints": list(self.joint_names),
            "joint_states": {**self._subscription.facts(), "mapped": self._mapper.counts()},
            **self._header_clock.facts(),
            "command_type": self._config.command_type,
            "command": None if self._commander is None else self._commander.facts(),
        }

    def _check_config(self) -> None:
        joints = self._config.joints
        if doubled := sorted({joint for joint in joints if joints.count(joint) > 1}):
            raise DeviceConfigError(f"{self.name}: joints are named twice: {', '.join(doubled)}")
        if self._config.command_type != "none" and not self._config.command_topic:
            raise DeviceConfigError(
                f"{self.name}: command_type {self._config.command_type} needs a command_topic, none is given"
            )

    def _open(self) -> None:
        from sensor_msgs.msg import JointState as JointStateMessage

        runtime = self._subscription.open(JointStateMessage)
        self._connected = True
        if self._config.command_type != "none":
            self._commander = JointCommander(runtime, self._config)
            self._commander.open()

    def _await_first(self) -> None:
        deadline_ns = clock.now_ns() + int(self._wait_s * 1e9)
        while clock.now_ns() < deadline_ns:
            if (sample := self.read(0.05)) is not None:
                self._unread.append(sample)
                if self._commander is not None:
                    self._commander.await_listener(1.0)
                return
        subject = f"{self.name}: no usable JointState on {self._config.joint_state_topic} within {self._wait_s:g} s"
        counts = ", ".join(f"{count} {what}" for what, count in self._mapper.counts().items() if count)
        raise DriverError(f"{subject} ({counts or 'no message'}; {self._subscription.seen()})")

    def _convert(self, received: Received) -> JointState | None:
        values = self._mapper.map(received.message)
        if values is None:
            self._first_incomplete_ns = self._first_incomplete_ns or received.received_ns
            return None
        stamp_ns, source = self._header_clock.stamp(received.header_ns, received.received_ns, received.anchor)
        self._last = JointState(
            stamp_ns, received.received_ns, values.position, values.velocity, values.effort, stamp_source=source
        )
        return self._last

    def _check_names(self) -> None:
        """Report joints that never come, once messages have been arriving for a while."""
        if self._mapper.used or not self._mapper.incomplete:
            return
        if clock.now_ns() - self._first_incomplete_ns < INCOMPLETE_WAIT_S * 1e9:
            return
        missing = self._mapper.missing_names()
        wrong = f"lack {', '.join(missing)}" if missing else "never name all of the configured joints at once"
        raise DriverError(
            f"{self.name}: messages on {self._config.joint_state_topic} {wrong}; "
            f"joints seen: {', '.join(self._mapper.seen_names()) or 'none'}"
        )
