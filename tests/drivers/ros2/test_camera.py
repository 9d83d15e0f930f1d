"""The ROS 2 camera over real DDS, against a publisher in a process of its own."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from drivers.clock import now_ns
from drivers.configs import Ros2CameraConfig
from drivers.errors import DeviceConfigError, DriverError
from drivers.ros2.camera import Ros2Camera
from drivers.samples import Image, ImageEncoding, StampSource

pytestmark = [pytest.mark.ros2, pytest.mark.slow]

RAW = {"topic": "/image", "kind": "image"}
JPEG = {"topic": "/image/compressed", "kind": "compressed"}
SMALL = {"width": 64, "height": 48}
FIRST_S = 8.0
"""The first frame includes the start of the publisher's process and discovery."""

MakeCamera = Callable[..., Ros2Camera]


@pytest.fixture
def make_camera() -> Iterator[MakeCamera]:
    made: list[Ros2Camera] = []

    def make(wait_s: float = 5.0, **changes: object) -> Ros2Camera:
        settings: dict[str, object] = {"name": "cam", "topic": "/image", "wait_for_data": False}
        made.append(Ros2Camera(Ros2CameraConfig.model_validate(settings | changes), wait_s=wait_s))
        return made[-1]

    yield make
    for device in made:
        device.disconnect()


@pytest.fixture
def sent() -> ModuleType:
    """The publisher's module, which knows what each of its frames looks like."""
    spec = importlib.util.spec_from_file_location("foreign_publisher", Path(__file__).with_name("publisher.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def take(camera: Ros2Camera, count: int) -> list[Image]:
    """Read `count` frames, then make sure that no more come."""
    frames = []
    while len(frames) < count:
        frame = camera.read(FIRST_S)
        assert frame is not None, f"only {len(frames)} of {count} frames came: {camera.facts()}"
        frames.append(frame)
    assert camera.read(0.2) is None, "more frames came than were sent"
    return frames


@pytest.mark.parametrize("qos", ["reliable", "best_effort"])
def test_no_raw_frame_is_lost_at_full_rate(make_camera, publish, record_property, qos):
    camera = make_camera()
    camera.connect()
    numbers, latencies = [], []
    with publish(RAW | {"count": 90, "rate_hz": 30, "qos": qos}) as foreign:
        foreign.wait_for("ready")
        while (frame := camera.read(2.0)) is not None:
            latencies.append((now_ns() - frame.stamp_ns) / 1e6)
            assert frame.data.shape == (480, 640, 3)
            assert frame.encoding is ImageEncoding.RGB8
            numbers.append(int(frame.data[0, 0, 0]) + 256 * int(frame.data[0, 1, 0]))
            if len(numbers) == 90:
                break
    assert numbers == list(range(90))
    assert camera.dropped() == 0
    record_property("latency_ms_p50_p99", np.percentile(latencies, [50, 99]).round(2).tolist())


def test_jpeg_frames_pass_byte_for_byte(make_camera, publish, sent):
    camera = make_camera(topic="/image/compressed", transport="compressed", **SMALL)
    camera.connect()
    stream = JPEG | SMALL | {"count": 30, "rate_hz": 60}
    with publish(stream):
        frames = take(camera, 30)
    for index, frame in enumerate(frames):
        assert frame.encoding is ImageEncoding.JPEG
        assert (frame.width, frame.height) == (64, 48)
        assert frame.data.tobytes() == bytes(sent.compressed_message(stream, index).data)


def test_png_frames_are_decoded_exactly(make_camera, publish, sent):
    camera = make_camera(topic="/image/compressed", transport="compressed", **SMALL)
    camera.connect()
    with publish(JPEG | SMALL | {"count": 5, "format": "png"}):
        frames = take(camera, 5)
    for index, frame in enumerate(frames):
        np.testing.assert_array_equal(frame.data, sent.noise(index, 48, 64, 3)[:, :, ::-1])


def test_without_stamps_the_receive_time_is_used_and_said(make_camera, publish):
    camera = make_camera(**SMALL)
    camera.connect()
    with publish(RAW | SMALL | {"count": 5, "stamp": "zero", "encoding": "mono8"}):
        for frame in take(camera, 5):
            assert frame.stamp_source is StampSource.RECEIVE
            assert frame.stamp_ns == frame.received_ns
    facts = json.loads(json.dumps(camera.facts(), allow_nan=False))
    assert facts["stamps"] == {"header": 0, "receive": 5}


@pytest.mark.parametrize(
    ("stream", "sentence"),
    [
        ({"width": 32, "height": 24}, "frames on /image are 32x24, configured are 64x48"),
        (SMALL | {"encoding": "rgb16"}, "cam on /image: image encoding 'rgb16' is not supported"),
    ],
)
def test_frames_other_than_configured_are_refused_with_one_sentence(make_camera, publish, stream, sentence):
    camera = make_camera(wait_for_data=True, **SMALL)
    with publish(RAW | stream | {"count": 200, "wait": False}) as foreign:
        foreign.wait_for("ready")
        with pytest.raises(DeviceConfigError, match=sentence):
            camera.connect()


def test_a_camera_that_never_delivers_is_named(make_camera):
    with pytest.raises(DriverError, match=r"cam: no usable image on /image within 0.5 s \(no message; no publisher\)"):
        make_camera(wait_s=0.5, wait_for_data=True).connect()


def test_the_wrong_transport_is_named_with_both_types(make_camera, publish):
    camera = make_camera(topic="/image", transport="compressed", wait_for_data=True, **SMALL)
    with publish(RAW | SMALL | {"count": 0, "wait": False}) as foreign:
        foreign.wait_for("ready")
        with pytest.raises(
            DriverError,
            match=r"wanted sensor_msgs/msg/CompressedImage, found publisher /foreign \(sensor_msgs/msg/Image",
        ):
            camera.connect()
