"""The whole path on the simulated station, as its users run it: commands, processes, files."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recorder.collection import find
from recorder.errors import RecorderError
from recorder.reader import open_episode
from recorder.segments import ControlSource
from recorder.streams import StreamRole
from tests.system.commands import CONFIG, ROOT, children_of, teleop, wait_for

SIM = CONFIG / "sim.yaml"
pytestmark = [pytest.mark.slow, pytest.mark.gl, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demonstration and a policy's attempt that the scripted operator rescues."""
    folder = tmp_path_factory.mktemp("sim") / "collection"
    teleop("record", SIM, "--collection", folder, "--episodes", 2, "--duration", 40, "--headless")
    return folder


@pytest.fixture(scope="module")
def listed(collection: Path) -> list[dict[str, Any]]:
    return json.loads(teleop("episodes", "list", collection, "--json").stdout)


def test_the_list_says_what_was_recorded(listed: list[dict[str, Any]]) -> None:
    demo, attempt = listed
    assert (demo["collection_mode"], attempt["collection_mode"]) == ("teleop_demo", "intervention")
    assert (demo["outcome"], attempt["outcome"]) == ("success", "success")
    assert set(demo["streams"]) == {"arm", "front", "wrist", "fixed_pad", "moving_pad", "control"}
    assert demo["interventions"] == []
    for stream in attempt["streams"].values():
        assert stream["samples"] > 20
        assert stream["drops"] == 0


def test_the_takeover_has_its_edges_within_a_tick_and_its_reason(
    listed: list[dict[str, Any]], collection: Path
) -> None:
    (one,) = listed[1]["interventions"]
    episode = open_episode(find(collection)[1])
    (control,) = episode.by_role(StreamRole.CONTROL)
    ticks = control.time
    first_after_request = ticks[ticks.searchsorted(one["request_ns"])]
    assert one["policy_off_ns"] == first_after_request
    assert one["reason"] == "already_failed"
    assert one["closed_by"] == "release"
    assert one["operator_first_ns"] <= one["release_ns"] <= one["policy_on_ns"]


def test_no_command_exceeds_the_limits_and_none_jumps(collection: Path) -> None:
    for path in find(collection):
        episode = open_episode(path)
        (control,) = episode.by_role(StreamRole.CONTROL)
        sent = control.field("sent")  # type: ignore[union-attr]
        steps = abs(sent[1:] - sent[:-1])
        assert steps[1:].max() <= 2.5 / 200 + 1e-9


def test_the_operator_rows_are_what_the_operator_asked_for(collection: Path) -> None:
    episode = open_episode(find(collection)[1])
    (control,) = episode.by_role(StreamRole.CONTROL)
    source, clamps = control.field("source"), control.field("clamps")  # type: ignore[union-attr]
    wanted = {ControlSource.OPERATOR: "operator_action", ControlSource.POLICY: "policy_action"}
    for who, field in wanted.items():
        rows = (source == who) & (clamps == 0) & control.field(field.replace("action", "valid"))  # type: ignore[union-attr]
        assert rows.sum() > 100
        assert abs(control.field("sent")[rows] - control.field(field)[rows]).max() < 1e-9  # type: ignore[union-attr]


def test_the_episodes_verify_and_export(collection: Path, tmp_path: Path) -> None:
    teleop("episodes", "verify", collection)
    report = json.loads(teleop("export", "lerobot", collection, tmp_path / "lerobot", "--json").stdout)
    assert report["episodes"] == 2, report["left_out"]
    import pyarrow.parquet as pq

    table = pq.read_table(sorted((tmp_path / "lerobot" / "data").rglob("*.parquet"))[1])
    intervention = table["intervention"].to_pylist()
    source = table["control_source"].to_pylist()
    assert {s for s, flag in zip(source, intervention, strict=True) if flag} == {int(ControlSource.OPERATOR)}
    assert any(intervention)


def test_a_killed_station_leaves_an_episode_that_recovers_and_no_process(tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    command = [sys.executable, "-m", "teleop_app", "record", str(SIM), "--collection", str(folder), "--headless"]
    station = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: seen_rows(folder) > 100)
    children = children_of(station.pid)
    assert len(children) >= 3  # the world and two cameras
    os.kill(station.pid, signal.SIGKILL)
    station.wait(10)
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))
    assert json.loads(teleop("episodes", "list", folder, "--json").stdout)[0]["state"] == "interrupted"
    (recovered,) = json.loads(teleop("episodes", "recover", folder, "--json").stdout)
    assert recovered["state"] == "recovered"
    assert recovered["streams"]["control"]["samples"] > 100
    assert recovered["streams"]["front"]["samples"] >= 1
    teleop("episodes", "verify", folder)


def seen_rows(folder: Path) -> int:
    """Rows of the control stream that a reader sees while the episode is being recorded."""
    try:
        return sum(len(open_episode(path).streams["control"]) for path in folder.glob("*.zarr"))
    except (RecorderError, KeyError):
        return 0


def test_the_readme_reads_an_episode_without_us(collection: Path) -> None:
    block = (ROOT / "README.md").read_text().split("```python\n")[1].split("```")[0]
    program = block.replace("DIR/000000-….zarr", str(find(collection)[0]))
    if sys.version_info < (3, 12):  # imagecodecs publishes its codec from 3.12 on
        program = "from recorder.jpeg_codec import register\nregister()\n" + program
    program += "print(seconds[0] >= 0, position.shape[1], front.shape[1:], last.mean() > 10, len(source) > 100)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stdout.strip() == "True 6 (240, 320, 3) True True", done.stderr
