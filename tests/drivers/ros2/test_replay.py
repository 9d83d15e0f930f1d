"""The publisher of recorded episodes, and what it reads."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drivers.configs import Ros2ArmConfig, Ros2CameraConfig
from drivers.errors import DriverError
from drivers.ros2 import replay, replay_data
from drivers.ros2.arm import Ros2Arm
from drivers.ros2.camera import Ros2Camera

ROOT = Path(__file__).parents[3]
SHARED = Path(os.environ.get("TELEOP_SHARED_DIR", ROOT.parent / "shared"))
G1 = SHARED / "data" / "g1_teleop"
NAMES = ["left", "right", "grip"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Two tiny episodes, 3 and 4, of 12 rows and frames at 30 Hz."""
    features = {key: {"dtype": "float32", "shape": [3], "names": [NAMES]} for key in ("observation.state", "action")}
    (tmp_path / "info.json").write_text(json.dumps({"fps": 30, "features": features}))
    for index in (3, 4):
        values = np.random.default_rng(index).normal(size=(12, 3)).astype(np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), 3)
        times = pa.array(np.arange(12, dtype=np.float32) / np.float32(30))
        table = pa.table({"timestamp": times, "observation.state": vectors, "action": vectors})
        pq.write_table(table, tmp_path / f"episode_{index:06d}.parquet")
        write_video(tmp_path / f"episode_{index:06d}.mp4", index)
    return tmp_path


def write_video(path: Path, seed: int) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for picture in np.random.default_rng(seed).integers(0, 256, (12, 48, 64, 3), dtype=np.uint8):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def test_rows_are_widened_to_float64_without_a_change(dataset):
    times, values = replay_data.load_rows(dataset / "episode_000003.parquet", "action")
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32))
    np.testing.assert_allclose(times, np.arange(12) / 30, atol=1e-6)


def test_frames_are_encoded_the_same_every_time(dataset):
    video = dataset / "episode_000003.mp4"
    first = list(replay_data.encoded_frames(video))
    assert len(first) == 12
    assert first == list(replay_data.encoded_frames(video))
    assert all(frame[:2] == b"\xff\xd8" for frame in first)


def test_the_layout_of_lerobot_is_found_too(dataset):
    (dataset / "meta").mkdir()
    (dataset / "info.json").rename(dataset / "meta" / "info.json")
    chunk, videos = dataset / "data" / "chunk-000", dataset / "videos" / "chunk-000" / "cam"
    chunk.mkdir(parents=True)
    videos.mkdir(parents=True)
    for path in list(dataset.glob("episode_*")):
        path.rename((videos if path.suffix == ".mp4" else chunk) / path.name)
    assert [episode.index for episode in replay_data.find_episodes(dataset, None)] == [3, 4]
    assert replay_data.joint_names(dataset, "action") == tuple(NAMES)


@pytest.mark.parametrize(
    ("break_it", "arguments", "sentence"),
    [
        (lambda d: None, ["--episodes", "3,9"], "has no episode 9; it has 3, 4"),
        (lambda d: (d / "info.json").unlink(), [], "has no info.json"),
        (lambda d: (d / "info.json").write_text("{}"), [], "does not name the joints"),
        (lambda d: (d / "info.json").write_text("{"), [], "does not name the joints"),
        (lambda d: (d / "episode_000003.mp4").unlink(), [], "has no video episode_000003.mp4"),
        (lambda d: [path.unlink() for path in d.glob("*.parquet")], [], "has no episode_*.parquet"),
    ],
)  # fmt: skip
def test_what_is_missing_is_one_sentence_and_exit_code_2(dataset, capsys, break_it, arguments, sentence):
    break_it(dataset)
    assert replay.main([str(dataset), *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_no_such_folder_is_one_sentence(tmp_path, capsys):
    assert replay.main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("episode_000003.parquet", lambda path: replay_data.load_rows(path, "action")),
        ("episode_000003.mp4", lambda path: list(replay_data.encoded_frames(path))),
    ],
)
def test_a_damaged_file_is_named(dataset, name, read):
    (dataset / name).write_bytes(b"not what it says")
    with pytest.raises(DriverError, match=name):
        read(dataset / name)


def counting(limit: int, made: list[int]) -> Iterator[int]:
    for number in range(limit):
        made.append(number)
        yield number


def test_prefetching_is_bounded_and_complete():
    made: list[int] = []
    frames = replay_data.Prefetch(lambda: counting(50, made), ahead=5)
    frames.start()
    assert len(made) <= 6
    assert [frames.next() for _ in range(52)] == [*range(50), None, None]
    frames.close()


def test_prefetching_can_be_abandoned_and_passes_errors_on():
    frames = replay_data.Prefetch(lambda: counting(50, []), ahead=5)
    frames.start()
    frames.close()
    assert "prefetch" not in [thread.name for thread in threading.enumerate()]
    broken = replay_data.Prefetch(lambda: replay_data.decoded_frames(Path("/no/such.mp4")), ahead=5)
    with pytest.raises(DriverError, match=r"such\.mp4"):
        broken.start()
    broken.close()


@pytest.mark.ros2
@pytest.mark.slow
def test_nobody_listening_names_the_topics(dataset, capsys):
    assert replay.main([str(dataset), "--wait-s", "0.2"]) == 2
    err = capsys.readouterr().err
    for topic in ("/g1/joint_states", "/g1/joint_commands", "/g1/head/image_raw/compressed"):
        assert topic in err


class Listener:
    """The three topics, read completely in threads."""

    def __init__(self, names: tuple[str, ...], image: str, width: int, height: int) -> None:
        topic = replay.IMAGE_TOPICS[image]
        camera = Ros2CameraConfig(
            name="head", topic=topic, transport=image, width=width, height=height, wait_for_data=False
        )
        arm = Ros2ArmConfig(name="state", joints=names, joint_state_topic=replay.STATE_TOPIC, wait_for_data=False)
        command = arm.model_copy(update={"name": "command", "joint_state_topic": replay.COMMAND_TOPIC})
        self.devices = (Ros2Arm(arm), Ros2Arm(command), Ros2Camera(camera))

    def run(self, arguments: list[str]) -> tuple[dict[str, object], list[list[object]]]:
        """Play with `arguments` in a process of its own; return what it said and all samples by device."""
        for device in self.devices:
            device.connect()
        try:
            command = [sys.executable, "-m", "drivers.ros2.replay", *arguments]
            result = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=50)
            assert result.returncode == 0, result.stderr
            return json.loads(result.stdout), [self._drain(device) for device in self.devices]
        finally:
            for device in self.devices:
                device.disconnect()

    @staticmethod
    def _drain(device: Ros2Arm | Ros2Camera) -> list[object]:
        samples = []
        while (sample := device.read(0.5)) is not None:
            samples.append(sample)
        assert device.dropped() == 0
        return samples


@pytest.mark.ros2
@pytest.mark.slow
@pytest.mark.parametrize("image", ["compressed", "raw"])
def test_every_row_and_frame_arrives_exactly_once_with_its_schedule(dataset, image):
    listener = Listener(tuple(NAMES), image, 64, 48)
    said, (states, commands, frames) = listener.run([str(dataset), "--image", image, "--gap-s", "0.1"])
    assert [(e["file"], e["rows"], e["frames"]) for e in said["episodes"]] == [
        ("episode_000003.parquet", 12, 12),
        ("episode_000004.parquet", 12, 12),
    ]
    rows = np.concatenate([replay_data.load_rows(dataset / f"episode_00000{n}.parquet", "action")[1] for n in (3, 4)])
    for samples in (states, commands):
        np.testing.assert_array_equal([sample.position for sample in samples], rows)
        spacing_ms = np.diff([sample.stamp_ns for sample in samples]) / 1e6
        np.testing.assert_allclose(np.delete(spacing_ms, 11), 1000 / 30, atol=0.01)
    source = replay_data.encoded_frames if image == "compressed" else replay_data.decoded_frames
    expected = [frame for n in (3, 4) for frame in source(dataset / f"episode_00000{n}.mp4")]
    received = [frame.data.tobytes() for frame in frames]
    assert received == [frame if image == "compressed" else frame.tobytes() for frame in expected]


@pytest.mark.ros2
@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not G1.is_dir(), reason=f"the shared reference data is not at {G1}: set TELEOP_SHARED_DIR")
def test_the_start_of_a_real_episode_arrives_whole():
    names = replay_data.joint_names(G1, "observation.state")
    listener = Listener(names, "compressed", 640, 480)
    said, (states, commands, frames) = listener.run([str(G1), "--episodes", "29", "--limit-s", "2", "--gap-s", "0"])
    count = said["episodes"][0]["rows"]
    assert 59 <= count <= 61
    parquet = G1 / "episode_000029.parquet"
    for samples, key in ((states, "observation.state"), (commands, "action")):
        np.testing.assert_array_equal([s.position for s in samples], replay_data.load_rows(parquet, key)[1][:count])
    encoded = replay_data.encoded_frames(G1 / "episode_000029.mp4")
    assert [frame.data.tobytes() for frame in frames] == [next(encoded) for _ in range(count)]
