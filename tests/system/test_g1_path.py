"""A real robot's recording, played over real ROS 2 by a process of its own, recorded by a passive station."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drivers.ros2.replay import encoded_frames
from drivers.ros2.replay_data import ACTION_KEY, STATE_KEY, find_episodes, load_rows
from recorder.collection import find
from recorder.reader import Episode, ImageStream, open_episode
from recorder.segments import ControlSource
from tests.system.commands import CONFIG, ROOT, teleop

pytestmark = [pytest.mark.slow, pytest.mark.ros2, pytest.mark.shared, pytest.mark.timeout(240)]
TICK_NS = 5_000_000


def record(data: Path, station: str, image: str, collection: Path) -> list[Episode]:
    env = {**os.environ, "ROS_DOMAIN_ID": "71", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    player = subprocess.Popen(
        [sys.executable, "-m", "teleop_app", "replay", str(data), "--image", image],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        arguments = ("--collection", collection, "--episodes", 3, "--duration", 60, "--headless")
        teleop("record", CONFIG / station, *arguments, env=env)
        out, _ = player.communicate(timeout=30)
    finally:
        player.kill()
        player.wait(10)
    assert player.returncode == 0
    played = json.loads(out.strip().splitlines()[-1])["episodes"]
    assert [(row["rows"], row["frames"]) for row in played] == [(278, 278), (221, 221), (277, 277)]
    return [open_episode(path) for path in find(collection)]


@pytest.fixture(scope="module")
def data(shared_dir: Path) -> Path:
    return shared_dir / "data" / "g1_teleop"


@pytest.fixture(scope="module")
def compressed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    return record(data, "g1_replay.yaml", "compressed", tmp_path_factory.mktemp("g1") / "collection")


def test_every_joint_row_is_there_once_in_order_and_equal(data: Path, compressed: list[Episode]) -> None:
    for episode, source in zip(compressed, find_episodes(data, None), strict=True):
        for stream, key in (("g1_state", STATE_KEY), ("g1_action", ACTION_KEY)):
            _, rows = load_rows(source.parquet, key)
            np.testing.assert_array_equal(episode.streams[stream].field("position"), rows)  # type: ignore[union-attr]
            periods = np.diff(episode.streams[stream].time) / 1e9
            np.testing.assert_allclose(periods, 1 / 30, atol=2e-3)


def test_every_frame_is_there_once_in_order_byte_for_byte(data: Path, compressed: list[Episode]) -> None:
    for episode, source in zip(compressed, find_episodes(data, None), strict=True):
        head = episode.streams["head"]
        assert isinstance(head, ImageStream)
        frames = list(encoded_frames(source.video))
        assert len(head) == len(frames)
        assert all(head.jpeg(row) == frame for row, frame in enumerate(frames))


def test_the_middle_is_tagged_within_a_tick_of_the_request(compressed: list[Episode]) -> None:
    for episode in compressed:
        (one,) = episode.info.interventions
        control = episode.streams["control"]
        source = control.field("source")  # type: ignore[union-attr]
        assert set(source.tolist()) == {ControlSource.POLICY, ControlSource.OPERATOR}
        assert one.release_ns is not None
        assert one.policy_on_ns is not None
        late = int(np.diff(control.time).max())  # a tick is as long as it really was
        for request_ns, edge_ns in ((one.request_ns, one.policy_off_ns), (one.release_ns, one.policy_on_ns)):
            assert 0 <= edge_ns - request_ns <= max(TICK_NS, late)
        assert one.operator_first_ns is not None
        assert 2.8 < (one.policy_on_ns - one.operator_first_ns) / 1e9 < 3.2


def test_it_verifies_and_becomes_one_dataset(compressed: list[Episode], tmp_path: Path) -> None:
    collection = compressed[0].path.parent
    teleop("episodes", "verify", collection)
    report = json.loads(teleop("export", "lerobot", collection, tmp_path / "lerobot", "--json").stdout)
    assert (report["episodes"], report["left_out"]) == (3, [])
    assert report["rows"] == report["frames"] > 770


def test_raw_images_are_all_there_and_look_the_same(data: Path, tmp_path: Path) -> None:
    raw = record(data, "g1_replay_raw.yaml", "raw", tmp_path / "collection")
    assert [len(episode.streams["head"]) for episode in raw] == [278, 221, 277]
    assert [len(episode.streams["g1_state"]) for episode in raw] == [278, 221, 277]
    head = raw[0].streams["head"]
    assert isinstance(head, ImageStream)
    import imagecodecs

    source = next(iter(encoded_frames(find_episodes(data, None)[0].video)))
    difference = np.abs(head.frame(0).astype(int) - imagecodecs.jpeg8_decode(source).astype(int))
    assert difference.mean() < 3
