"""Pixels out of image messages, without ROS."""

import array
from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from drivers.errors import DeviceConfigError
from drivers.ros2.image_messages import compressed_pixels, raw_pixels, read_jpeg_header
from drivers.samples import ImageEncoding

HEIGHT, WIDTH = 6, 8
RGB = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
GREY = RGB[:, :, :1]
ALPHA = np.full((HEIGHT, WIDTH, 1), 7, np.uint8)


@dataclass
class Raw:
    encoding: str
    data: array.array
    height: int = HEIGHT
    width: int = WIDTH
    step: int = 0


@dataclass
class Compressed:
    data: array.array
    format: str = ""


def raw(encoding: str, pixels: np.ndarray, padding: int = 0) -> Raw:
    rows = pixels.reshape(HEIGHT, -1)
    padded = np.pad(rows, ((0, 0), (0, padding)), constant_values=99)
    return Raw(encoding, array.array("B", padded.tobytes()), step=padded.shape[1])


def encode(suffix: str, pixels: np.ndarray, *options: int) -> bytes:
    return cv2.imencode(suffix, pixels, list(options))[1].tobytes()


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(
    ("encoding", "pixels", "expected"),
    [
        ("rgb8", RGB, RGB),
        ("bgr8", RGB[:, :, ::-1], RGB),
        ("mono8", GREY, np.repeat(GREY, 3, axis=2)),
        ("rgba8", np.concatenate([RGB, ALPHA], axis=2), RGB),
        ("bgra8", np.concatenate([RGB[:, :, ::-1], ALPHA], axis=2), RGB),
    ],
)
def test_every_encoding_becomes_rgb_whatever_the_padding(encoding, pixels, expected, padding):
    frame = raw_pixels(raw(encoding, pixels, padding))
    assert frame.encoding is ImageEncoding.RGB8
    assert (frame.height, frame.width) == (HEIGHT, WIDTH)
    np.testing.assert_array_equal(frame.data, expected)
    assert not frame.data.flags.writeable


def test_red_is_red_in_every_form():
    red_bgr = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    red_bgr[:, :, 2] = 255
    jpeg = compressed_pixels(Compressed(array.array("B", encode(".jpg", red_bgr))))
    shown = cv2.cvtColor(cv2.imdecode(jpeg.data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
    png = compressed_pixels(Compressed(array.array("B", encode(".png", red_bgr)), "png"))
    for pixels in (
        raw_pixels(raw("bgr8", red_bgr)).data,
        raw_pixels(raw("rgb8", red_bgr[:, :, ::-1])).data,
        shown,
        png.data,
    ):
        assert pixels[..., 0].min() > 200
        assert pixels[..., 2].max() < 60


def test_an_unknown_encoding_is_named_with_those_that_are_known():
    with pytest.raises(DeviceConfigError, match=r"'16UC1' is not supported \(supported: rgb8, bgr8, mono8"):
        raw_pixels(raw("16UC1", RGB))


def test_data_shorter_than_its_header_says_is_damaged():
    message = raw("rgb8", RGB)
    message.data = message.data[:-1]
    assert raw_pixels(message) is None


@pytest.mark.parametrize("options", [(), (cv2.IMWRITE_JPEG_PROGRESSIVE, 1), (cv2.IMWRITE_JPEG_RST_INTERVAL, 1)])
def test_a_jpeg_passes_through_byte_for_byte_with_its_size(options):
    blob = encode(".jpg", RGB, *options)
    frame = compressed_pixels(Compressed(array.array("B", blob)))
    assert frame.encoding is ImageEncoding.JPEG
    assert frame.data.tobytes() == blob
    assert (frame.height, frame.width) == (HEIGHT, WIDTH)


@pytest.mark.parametrize("keep", [0, 1, 2, 20, 200, -2])
def test_a_jpeg_cut_short_is_damaged(keep):
    blob = encode(".jpg", RGB)[:keep]
    assert compressed_pixels(Compressed(array.array("B", blob))) is None


def test_a_grey_jpeg_is_decoded_because_a_frame_is_rgb():
    frame = compressed_pixels(Compressed(array.array("B", encode(".jpg", GREY))))
    assert frame.encoding is ImageEncoding.RGB8
    assert frame.data.shape == (HEIGHT, WIDTH, 3)


def test_a_png_is_decoded_exactly():
    frame = compressed_pixels(Compressed(array.array("B", encode(".png", RGB[:, :, ::-1])), "png"))
    np.testing.assert_array_equal(frame.data, RGB)


def test_depth_is_refused_rather_than_squeezed_into_eight_bits():
    depth = encode(".png", GREY.astype(np.uint16) * 100)
    with pytest.raises(DeviceConfigError, match="uint16"):
        compressed_pixels(Compressed(array.array("B", depth), "16UC1; compressedDepth png"))


@pytest.mark.parametrize(
    "blob", [b"", b"\xff\xd8", b"\xff\xd8\xff\xe0", b"\xff\xd8\xff\xe0\x00\x00", b"GIF89a", bytes(50)]
)
def test_bytes_that_are_no_jpeg_have_no_header(blob):
    assert read_jpeg_header(blob) is None
