"""What a look at a frame tells, on pictures whose faults are known."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recorder import jpeg
from recorder.image_health import largest_difference, look
from recorder.streams import ImageStreamSpec

SPEC = ImageStreamSpec(name="front", rate_hz=30, height=480, width=640)


def scene(seed: int = 0, height: int = 480, width: int = 640) -> NDArray[np.uint8]:
    """Discs on a gradient with sensor noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width].astype(np.float32)
    picture = np.stack([40 + 120 * x / width, 40 + 120 * y / height, 60 + 60 * (x + y) / (width + height)], axis=-1)
    for _ in range(40):
        centre = (int(rng.integers(0, width)), int(rng.integers(0, height)))
        cv2.circle(picture, centre, int(rng.integers(5, 50)), rng.integers(20, 220, 3).tolist(), -1)
    return (picture + rng.normal(0, 2, picture.shape)).clip(0, 255).astype(np.uint8)


def as_jpeg(pixels: NDArray[np.uint8]) -> bytes:
    return jpeg.encode(pixels, SPEC.model_copy(update={"height": pixels.shape[0], "width": pixels.shape[1]}))


@pytest.mark.parametrize("size", [(480, 640), (48, 64), (720, 1280), (1080, 1920), (17, 33)])
def test_pixels_and_their_jpeg_look_alike(size: tuple[int, int]) -> None:
    pixels = scene(1, *size)
    one, other = look(pixels), look(as_jpeg(pixels))
    assert one.brightness == pytest.approx(other.brightness, abs=2)
    assert one.white_share == pytest.approx(other.white_share, abs=0.02)
    assert one.sharpness == pytest.approx(other.sharpness, rel=0.15)


def test_black_and_white_are_black_and_white() -> None:
    black, white = look(as_jpeg(np.zeros((480, 640, 3), np.uint8))), look(np.full((480, 640, 3), 255, np.uint8))
    assert (black.brightness, black.white_share, black.sharpness) == (0.0, 0.0, 0.0)
    assert (white.brightness, white.white_share) == (pytest.approx(255), 1.0)


@given(seed=st.integers(0, 30), light=st.floats(0.3, 1.1))
@settings(max_examples=15, deadline=None)
def test_blur_lowers_the_sharpness_whatever_the_light(seed: int, light: float) -> None:
    pixels = scene(seed)
    dim = (pixels * light).clip(0, 255).astype(np.uint8)
    own = look(pixels).sharpness
    assert look(as_jpeg(dim)).sharpness == pytest.approx(own, rel=0.25)
    assert look(as_jpeg(cv2.GaussianBlur(dim, (0, 0), 3))).sharpness < 0.35 * own


def test_the_same_picture_encoded_again_does_not_differ_and_a_small_change_does() -> None:
    pixels = scene()
    moved = pixels.copy()
    moved[200:216, 300:316] = 255
    first = look(pixels)
    assert largest_difference(first, look(pixels.copy())) == 0
    assert largest_difference(look(as_jpeg(pixels)), look(as_jpeg(jpeg.decode(as_jpeg(pixels))))) <= 2
    assert largest_difference(first, look(moved)) > 20
    assert largest_difference(first, look(scene(0, 240, 320))) <= 255
    assert largest_difference(first, look(scene(0, 48, 64))) == 255


def test_a_damaged_jpeg_is_said_to_be_damaged() -> None:
    with pytest.raises(ValueError, match=r"does not start|damaged|no frame header"):
        look(b"\xff\xd8\xff\xd9")
    with pytest.raises(ValueError, match="does not start"):
        look(np.zeros(100, np.uint8))
