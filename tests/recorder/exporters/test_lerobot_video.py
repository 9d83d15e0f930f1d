from pathlib import Path

import numpy as np
import pytest

from recorder.exporters.lerobot_video import VideoOptions, encode_video, video_problems


def moving(count: int, size: tuple[int, int] = (48, 64)) -> list[tuple[np.ndarray, bool]]:
    texture = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)
    return [(np.roll(texture, index, axis=1), False) for index in range(count)]


@pytest.mark.parametrize("fps", [1, 24, 30, 50, 59])
def test_every_frame_lies_at_its_number_over_the_rate(tmp_path: Path, fps: int):
    path = tmp_path / "v.mp4"
    assert encode_video(path, moving(20), fps, VideoOptions()) == 20
    assert video_problems(path, 20, fps, (48, 64)) == []


def test_the_same_frames_give_the_same_bytes(tmp_path: Path):
    for name in ("a", "b"):
        encode_video(tmp_path / name, moving(10), 30, VideoOptions())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_faults_of_a_video_are_named(tmp_path: Path):
    path = tmp_path / "v.mp4"
    encode_video(path, moving(10), 30, VideoOptions())
    assert video_problems(path, 11, 30, (48, 64)) == ["v.mp4 has 10 frames instead of 11"]
    assert video_problems(path, 10, 25, (48, 64)) == ["v.mp4 has a frame that is not at its number / 25"]
    assert video_problems(path, 10, 30, (48, 48)) == ["v.mp4 is 64x48 instead of 48x48"]
    path.write_bytes(path.read_bytes()[:200])
    (problem,) = video_problems(path, 10, 30, (48, 64))
    assert "does not open as a video" in problem
