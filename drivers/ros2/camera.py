"""A camera behind a ROS 2 topic: raw images become RGB8, JPEG passes through byte for byte."""

from collections import deque
from collections.abc import Mapping

from drivers import clock
from drivers.configs import Ros2CameraConfig
from drivers.errors import DeviceConfigError, DriverError
from drivers.ros2.image_messages import compressed_pixels, raw_pixels
from drivers.ros2.stamps import HeaderClock
from drivers.ros2.subscription import Received, TopicSubscription
from drivers.samples import Image

CONNECT_WAIT_S = 5.0
"""How long `connect` waits for a first frame [s]."""
QUEUE_S = 4.0
SMALLEST_QUEUE = 60
MESSAGE_TYPES = {"raw": "sensor_msgs/msg/Image", "compressed": "sensor_msgs/msg/CompressedImage"}


class Ros2Camera:
    """Implements `drivers.protocols.Camera`."""

    def __init__(self, config: Ros2CameraConfig, wait_s: float = CONNECT_WAIT_S) -> None:
        """Prepare; no I/O.

        Args:
            config: Topic, transport and expected size.
            wait_s: How long `connect` waits for data, if the configuration asks it to [s].
        """
        self.name = config.name
        self._config, self._wait_s = config, wait_s
        self._reset()

    def _reset(self) -> None:
        depth = max(SMALLEST_QUEUE, int(QUEUE_S * self._config.rate_hz))
        self._subscription = TopicSubscription(self._config.topic, MESSAGE_TYPES[self._config.transport], depth)
        self._header_clock = HeaderClock()
        self._unread: deque[Image] = deque()
        self._damaged = self._refused = 0
        self._connected = False

    def connect(self) -> None:
        """Subscribe, and wait for a first frame if configured.

        Raises:
            DriverError: no ROS 2, no frame, another message type, or no compatible QoS.
            DeviceConfigError: another size than configured, an encoding that is not supported, a bad topic name.
        """
        if self._connected:
            return
        self._reset()
        try:
            self._open()
            if self._config.wait_for_data:
                self._await_first()
        except DriverError:
            self.disconnect()
            raise

    def disconnect(self) -> None:
        """Release everything; idempotent."""
        self._subscription.close()
        self._connected = False

    def read(self, timeout_s: float) -> Image | None:
        """Return the next frame, each once and in order; None after `timeout_s` without one.

        Raises:
            DriverError: nothing can arrive (wrong type, no compatible QoS).
            DeviceConfigError: a frame of another size than configured, or of an encoding that is not supported.
        """
        if self._unread:
            return self._unread.popleft()
        deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
        while (received := self._subscription.get((deadline_ns - clock.now_ns()) / 1e9)) is not None:
            if (frame := self._convert(received)) is not None:
                return frame
            if clock.now_ns() >= deadline_ns:
                break
        return None

    def dropped(self) -> int:
        """Frames lost by queue or middleware, damaged ones, and those refused for their size or encoding."""
        return self._subscription.lost + self._damaged + self._refused

    def facts(self) -> Mapping[str, object]:
        """Topic, QoS, publishers, counts, and which stamps were used."""
        return {
            "driver": self._config.driver,
            "transport": self._config.transport,
            "size": [self._config.width, self._config.height],
            "images": {**self._subscription.facts(), "damaged": self._damaged, "refused": self._refused},
            **self._header_clock.facts(),
        }

    def _open(self) -> None:
        from sensor_msgs.msg import CompressedImage
        from sensor_msgs.msg import Image as RawImage

        self._subscription.open(CompressedImage if self._config.transport == "compressed" else RawImage)
        self._connected = True

    def _await_first(self) -> None:
        deadline_ns = clock.now_ns() + int(self._wait_s * 1e9)
        while clock.now_ns() < deadline_ns:
            if (frame := self.read(0.05)) is not None:
                self._unread.append(frame)
                return
        damaged = f"{self._damaged} damaged" if self._damaged else "no message"
        raise DriverError(
            f"{self.name}: no usable image on {self._config.topic} within {self._wait_s:g} s "
            f"({damaged}; {self._subscription.seen()})"
        )

    def _convert(self, received: Received) -> Image | None:
        compressed = self._config.transport == "compressed"
        try:
            pixels = compressed_pixels(received.message) if compressed else raw_pixels(received.message)
        except DeviceConfigError as error:
            self._refused += 1
            raise DeviceConfigError(f"{self.name} on {self._config.topic}: {error}") from error
        if pixels is None:
            self._damaged += 1
            return None
        if (pixels.width, pixels.height) != (self._config.width, self._config.height):
            self._refused += 1
            raise DeviceConfigError(
                f"{self.name}: frames on {self._config.topic} are {pixels.width}x{pixels.height}, "
                f"configured are {self._config.width}x{self._config.height}"
            )
        stamp_ns, source = self._header_clock.stamp(received.header_ns, received.received_ns, received.anchor)
        return Image(
            stamp_ns,
            received.received_ns,
            pixels.encoding,
            pixels.data,
            pixels.height,
            pixels.width,
            stamp_source=source,
        )
