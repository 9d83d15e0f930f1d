"""Plays recorded episodes as a robot would publish them: `python -m drivers.ros2.replay DATA_DIR`.

A process of its own. It publishes measured joints, commanded joints and the head camera in real time on absolute
deadlines, reliably, and prints one line of JSON when everything was acknowledged.
"""

import argparse
import array
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from drivers import clock
from drivers.errors import DriverError
from drivers.ros2.executor import RosRuntime
from drivers.ros2.replay_data import (
    ACTION_KEY,
    STATE_KEY,
    EpisodeFiles,
    Prefetch,
    decoded_frames,
    encoded_frames,
    find_episodes,
    joint_names,
    load_rows,
)
from drivers.samples import FloatArray

STATE_TOPIC, COMMAND_TOPIC = "/g1/joint_states", "/g1/joint_commands"
IMAGE_TOPICS = {"compressed": "/g1/head/image_raw/compressed", "raw": "/g1/head/image_raw"}
NODE_NAME = "g1_replay"
FRAME_ID = "head_camera_optical_frame"
JPEG_FORMAT = "rgb8; jpeg compressed bgr8"
"""As image_transport writes it: an rgb8 image, handed to the JPEG encoder as bgr8."""

JOINT_DEPTH = 2000
AHEAD = {"compressed": 600, "raw": 300}
"""Frames prepared ahead: about 90 MB of JPEG, 280 MB of raw 640x480."""
IMAGE_DEPTH = {"compressed": 300, "raw": 90}
"""Frames kept for a slow reader before the oldest is overwritten."""
POLL_NS = 20_000_000
ACK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    folder: Path
    image: str
    gap_s: float
    episodes: tuple[int, ...] | None
    """None means all."""
    rate: float
    wait_s: float
    limit_s: float
    """Play no more than this of each episode [s]."""


class EpisodePlayer:
    """Publishes episodes on the three topics."""

    def __init__(self, runtime: RosRuntime, options: Options, names: Mapping[str, list[str]]) -> None:
        """Prepare; no I/O. `names` are the joints' names by column."""
        self._runtime, self._options, self._names = runtime, options, names
        self._publishers: dict[str, Any] = {}

    def open(self) -> None:
        """Advertise the topics."""
        from sensor_msgs.msg import CompressedImage, Image, JointState

        image = self._options.image
        wanted = [
            (STATE_TOPIC, JointState, JOINT_DEPTH),
            (COMMAND_TOPIC, JointState, JOINT_DEPTH),
            (IMAGE_TOPICS[image], CompressedImage if image == "compressed" else Image, IMAGE_DEPTH[image]),
        ]
        for topic, message_class, depth in wanted:
            create = partial(self._runtime.node.create_publisher, message_class, topic, depth)
            self._publishers[topic] = self._runtime.call(create)

    def await_subscribers(self) -> None:
        """Wait until every topic is subscribed to.

        Raises:
            DriverError: some topic is not, within the time allowed.
        """
        deadline_ns = clock.now_ns() + int(self._options.wait_s * 1e9)
        while silent := [t for t, publisher in self._publishers.items() if publisher.get_subscription_count() == 0]:
            if clock.now_ns() >= deadline_ns:
                raise DriverError(f"nobody subscribed within {self._options.wait_s:g} s to {', '.join(silent)}")
            clock.sleep_until_ns(clock.now_ns() + POLL_NS)

    def play(self, files: EpisodeFiles) -> dict[str, object]:
        """Publish one episode after `gap_s` of silence; return what was published."""
        gap_end_ns = clock.now_ns() + int(self._options.gap_s * 1e9)
        times, state = self._load(files, STATE_KEY)
        action = self._load(files, ACTION_KEY)[1]
        frames = Prefetch(self._frame_source(files), AHEAD[self._options.image])
        try:
            frames.start()
            clock.sleep_until_ns(gap_end_ns)
            played, shown, late_ns = self._play_rows(times, state, action, frames)
        finally:
            frames.close()
        return {"file": files.parquet.name, "rows": played, "frames": shown, "latest_ms": round(late_ns / 1e6, 3)}

    def finish(self) -> None:
        """Wait until every subscriber has acknowledged everything.

        Raises:
            DriverError: some topic was not acknowledged.
        """
        from rclpy.duration import Duration

        limit = Duration(nanoseconds=int(ACK_TIMEOUT_S * 1e9))
        if silent := [t for t, publisher in self._publishers.items() if not publisher.wait_for_all_acked(limit)]:
            raise DriverError(f"not everything was acknowledged within {ACK_TIMEOUT_S:g} s on {', '.join(silent)}")

    def _load(self, files: EpisodeFiles, key: str) -> tuple[FloatArray, FloatArray]:
        times, values = load_rows(files.parquet, key)
        if values.shape[1] != len(self._names[key]):
            raise DriverError(
                f"{files.parquet}: {key} has {values.shape[1]} values a row, "
                f"info.json names {len(self._names[key])} joints"
            )
        return times - times[:1], values

    def _frame_source(self, files: EpisodeFiles) -> Any:
        source = encoded_frames if self._options.image == "compressed" else decoded_frames
        return lambda: source(files.video)

    def _play_rows(self, times: Any, state: Any, action: Any, frames: Prefetch) -> tuple[int, int, int]:
        """Publish rows and frames side by side; return rows, frames, and the greatest lateness [ns]."""
        anchor = clock.read_anchor()
        shown = late_ns = played = 0
        for time_s, measured, commanded in zip(times, state, action, strict=True):
            if time_s >= self._options.limit_s:
                break
            frame = frames.next()
            offset_ns = round(time_s * 1e9 / self._options.rate)
            clock.sleep_until_ns(anchor.monotonic_ns + offset_ns)
            late_ns = max(late_ns, clock.now_ns() - anchor.monotonic_ns - offset_ns)
            utc_ns = anchor.utc_ns + offset_ns
            self._publish_joints(STATE_TOPIC, self._names[STATE_KEY], measured, utc_ns)
            self._publish_joints(COMMAND_TOPIC, self._names[ACTION_KEY], commanded, utc_ns)
            if frame is not None:
                self._publish_frame(frame, utc_ns)
                shown += 1
            played += 1
        return played, shown, late_ns

    def _publish_joints(self, topic: str, names: list[str], position: Any, utc_ns: int) -> None:
        from sensor_msgs.msg import JointState

        message = JointState(name=names, position=array.array("d", position))
        self._publishers[topic].publish(_stamped(message, utc_ns))

    def _publish_frame(self, frame: Any, utc_ns: int) -> None:
        from sensor_msgs.msg import CompressedImage, Image

        message: Any
        if isinstance(frame, bytes):
            message = CompressedImage(format=JPEG_FORMAT)
            message.data = array.array("B", frame)
        else:
            height, width = frame.shape[:2]
            message = Image(height=height, width=width, encoding="rgb8", step=3 * width)
            message.data = array.array("B", np.ascontiguousarray(frame).tobytes())
        message.header.frame_id = FRAME_ID
        self._publishers[IMAGE_TOPICS[self._options.image]].publish(_stamped(message, utc_ns))


def _stamped(message: Any, utc_ns: int) -> Any:
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(utc_ns, 1_000_000_000)
    return message


def replay(options: Options) -> list[dict[str, object]]:
    """Play the episodes and return what was published of each.

    Raises:
        DriverError: data that cannot be read, no ROS 2, nobody listening, or something not acknowledged.
    """
    episodes = find_episodes(options.folder, options.episodes)
    names = {key: list(joint_names(options.folder, key)) for key in (STATE_KEY, ACTION_KEY)}
    runtime = RosRuntime(NODE_NAME)
    try:
        runtime.start()
        player = EpisodePlayer(runtime, options, names)
        player.open()
        player.await_subscribers()
        played = [player.play(files) for files in episodes]
        player.finish()
    finally:
        runtime.stop()
    return played


def _options(argv: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m drivers.ros2.replay", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DATA_DIR", help="folder with info.json and episode_* files")
    parser.add_argument("--image", choices=sorted(IMAGE_TOPICS), default="compressed")
    parser.add_argument("--gap-s", type=float, default=2.0, help="silence before each episode [s]")
    parser.add_argument("--episodes", type=_indices, default=None, help="like 28,29,30; default all")
    parser.add_argument("--rate", type=_positive, default=1.0, help="speed, 1 is real time")
    parser.add_argument("--wait-s", type=float, default=30.0, help="how long to wait for subscribers [s]")
    parser.add_argument("--limit-s", type=_positive, default=float("inf"), help="play only the start of each [s]")
    return Options(**vars(parser.parse_args(argv)))


def _indices(text: str) -> tuple[int, ...] | None:
    return None if text == "all" else tuple(int(part) for part in text.split(","))


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not greater than 0")
    return value


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0 played, 2 a problem in one sentence, 130 interrupted."""
    options = _options(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        played = replay(options)
    except DriverError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(json.dumps({"episodes": played}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
