import numpy as np
import pytest

from recorder.exporters.lerobot_stats import NAMES, frame_histogram, image_stats, vector_stats


def test_quantiles_of_two_episodes_are_those_of_their_union():
    stats = vector_stats(np.concatenate([np.arange(100), np.arange(1000, 1100)]))
    assert stats["q01"] == pytest.approx([1.99])
    assert stats["q99"] == pytest.approx([1097.01])
    assert stats["count"] == [200]


def test_black_and_white_frames_have_mean_and_deviation_one_half():
    frames = [np.zeros((4, 6, 3), np.uint8), np.full((4, 6, 3), 255, np.uint8)]
    stats = image_stats(sum(frame_histogram(frame) for frame in frames), 2)
    assert np.array(stats["mean"]).shape == (3, 1, 1)
    assert stats["mean"] == stats["std"] == [[[0.5]]] * 3
    assert (stats["min"], stats["max"], stats["count"]) == ([[[0.0]]] * 3, [[[1.0]]] * 3, [2])


@pytest.mark.parametrize("pixels", [1, 2, 7, 500])
def test_image_statistics_equal_those_of_the_pixels_themselves(pixels: int):
    frames = np.random.default_rng(pixels).integers(0, 256, (3, 1, pixels, 3)).astype(np.uint8)
    found = image_stats(sum(frame_histogram(frame) for frame in frames), 3)
    right = vector_stats(frames.reshape(-1, 3) / 255)
    for name in set(NAMES) - {"count"}:
        assert np.ravel(found[name]) == pytest.approx(right[name], abs=1e-12), name
