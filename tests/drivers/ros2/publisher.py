"""A foreign ROS 2 process for the tests: publishes what a JSON list of streams asks for, then waits for end of input.

Run as `python publisher.py JSON`. Each stream: {topic, kind: joint_state | image | compressed, qos: reliable |
best_effort, depth, count, rate_hz, stamp: now | zero | seconds ahead, wait: bool} and what its kind needs. Prints
"ready" when every publisher exists (and, with wait, is matched), "done" when all was published and acknowledged.
"""

import array
import json
import select
import sys
import time

import cv2
import numpy as np
import rclpy
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image, JointState

WAIT_S = 15.0


def noise(index, height, width, channels):
    """The frame with number `index`: noise from a seed, its number in the first pixel."""
    frame = np.random.default_rng(index).integers(0, 256, (height, width, channels), dtype=np.uint8)
    frame[0, 0, 0] = index % 256
    return frame


def joint_message(stream, index):
    names = stream["names"]
    if names and isinstance(names[0], list):  # several publishers in one: take turns
        names = names[index % len(names)]
    message = JointState(name=names)
    positions = stream.get("positions")
    message.position = [float(index)] * len(names) if positions is None else positions
    message.velocity = stream.get("velocity", [])
    message.effort = stream.get("effort", [])
    return message


def image_message(stream, index):
    height, width, encoding = stream.get("height", 480), stream.get("width", 640), stream.get("encoding", "rgb8")
    channels = 1 if encoding == "mono8" else 3
    data = noise(index % stream.get("distinct", 4), height, width, channels)
    data[0, 0, 0], data[0, 1, 0] = index % 256, index // 256
    return Image(
        height=height, width=width, encoding=encoding, step=width * channels, data=array.array("B", data.tobytes())
    )


def compressed_message(stream, index):
    suffix = "." + stream.get("format", "jpg")
    frame = noise(index, stream.get("height", 48), stream.get("width", 64), 3)
    return CompressedImage(format=suffix[1:], data=cv2.imencode(suffix, frame)[1].tobytes())


KINDS = {
    "joint_state": (JointState, joint_message),
    "image": (Image, image_message),
    "compressed": (CompressedImage, compressed_message),
}


def stamped(message, stamp):
    if stamp != "zero":
        ahead_ns = 0 if stamp == "now" else int(stamp * 1e9)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns() + ahead_ns, 1_000_000_000)
    return message


def say(word):
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def advertise(node, streams):
    publishers = []
    for stream in streams:
        reliability = ReliabilityPolicy[stream.get("qos", "reliable").upper()]
        qos = QoSProfile(depth=stream.get("depth", 1000), reliability=reliability)
        publishers.append(node.create_publisher(KINDS[stream["kind"]][0], stream["topic"], qos))
    deadline = time.monotonic() + WAIT_S
    waiting = [p for p, stream in zip(publishers, streams, strict=True) if stream.get("wait", True)]
    while any(p.get_subscription_count() == 0 for p in waiting) and time.monotonic() < deadline:
        time.sleep(0.01)
    return publishers


def build(stream, index):
    return KINDS[stream["kind"]][1](stream, index)


def run(node, streams):
    images = {  # built ahead: making frames must not slow the rate
        (number, index): build(stream, index)
        for number, stream in enumerate(streams)
        if stream["kind"] != "joint_state"
        for index in range(stream.get("count", 10))
    }
    publishers = advertise(node, streams)
    say("ready")
    turns = sorted(
        (index / stream.get("rate_hz", 100.0), number, index)
        for number, stream in enumerate(streams)
        for index in range(stream.get("count", 10))
    )
    start = time.monotonic()
    for due, number, index in turns:
        if select.select([sys.stdin], [], [], max(0.0, start + due - time.monotonic()))[0]:
            return  # end of input: the test wants no more
        message = images.get((number, index)) or build(streams[number], index)
        publishers[number].publish(stamped(message, streams[number].get("stamp", "now")))
    for publisher in publishers:
        publisher.wait_for_all_acked(Duration(seconds=5))
    say("done")
    sys.stdin.read()


if __name__ == "__main__":
    rclpy.init(args=[])
    publisher_node = rclpy.create_node("foreign", start_parameter_services=False, enable_rosout=False)
    try:
        run(publisher_node, json.loads(sys.argv[1]))
    finally:
        publisher_node.destroy_node()
        rclpy.try_shutdown()
