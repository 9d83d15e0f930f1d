"""A user's mistake, or missing hardware: one sentence, exit code 2, no traceback, nothing half-written."""

import os
from pathlib import Path

import pytest

from tests.system.commands import CONFIG, teleop

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

SERVO = (
    "station: s\nfollower: arm\ndevices:\n  - {driver: servo_arm, name: arm, port: %s, rate_hz: 50, joints: {a: 1}}\n"
)
LISTENING = (
    "station: s\nmode: passive\ndevices:\n"
    "  - {driver: ros2_arm, name: arm, joint_state_topic: /bad_input/nobody, joints: [a]}\n"
)
CAMERA = "station: s\nmode: passive\ndevices:\n  - {driver: ros2_camera, name: front, topic: /bad_input/dark}\n"


def refused(tmp_path: Path, text: str | None = None, station: Path | None = None, **env: str) -> str:
    """Record from a station that cannot work; return the sentence."""
    path = station or tmp_path / "station.yaml"
    if text is not None:
        path.write_text(text)
    collection = tmp_path / "collection"
    arguments = ("record", path, "--collection", collection, "--task", "t", "--duration", 2, "--headless")
    domain = {"ROS_DOMAIN_ID": "72", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    done = teleop(*arguments, expect=2, env={**domain, **env})
    sentences = [line for line in done.stderr.splitlines() if line.startswith("teleop: ")]
    assert len(sentences) == 1, done.stderr
    assert not collection.exists()
    return sentences[0]


def test_no_station_file(tmp_path: Path) -> None:
    assert "no such station file" in refused(tmp_path)


def test_a_field_that_does_not_exist(tmp_path: Path) -> None:
    text = (CONFIG / "sim.yaml").read_text().replace("rate_hz: 200}", "rates: 200}", 1)
    assert "devices[arm].rates: unknown field; did you mean 'rate_hz'?" in refused(tmp_path, text)


def test_limits_for_another_number_of_joints(tmp_path: Path) -> None:
    text = (CONFIG / "sim.yaml").read_text().replace("upper: [1.92, ", "upper: [")
    assert "control.limits.upper: 5 values for 6 joints of arm" in refused(tmp_path, text)


def test_a_leader_without_one_of_the_followers_joints(tmp_path: Path) -> None:
    joints = "{shoulder_pan: 1, elbow: 2}"
    text = f"extends: {CONFIG / 'sim_leader.yaml'}\ndevices:\n  - {{name: leader, joints: {joints}}}\n"
    sentence = refused(tmp_path, text)
    assert "leader: the leader has no joint shoulder_lift, elbow_flex, wrist_flex, wrist_roll, gripper" in sentence


def test_a_port_that_does_not_exist(tmp_path: Path) -> None:
    sentence = refused(tmp_path, SERVO % (tmp_path / "ttyACM7"))
    assert "arm" in sentence
    assert "ttyACM7" in sentence


@pytest.mark.ros2
def test_an_arm_that_nobody_publishes(tmp_path: Path) -> None:
    assert "/bad_input/nobody" in refused(tmp_path, LISTENING)


@pytest.mark.ros2
def test_a_camera_that_never_delivers(tmp_path: Path) -> None:
    assert "/bad_input/dark" in refused(tmp_path, CAMERA)


def test_no_ros(tmp_path: Path) -> None:
    (tmp_path / "rclpy").mkdir()
    (tmp_path / "rclpy" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'rclpy'\", name='rclpy')\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert "teleop-app[ros2]" in refused(tmp_path, LISTENING, PYTHONPATH=path)


@pytest.mark.gl
def test_no_gl(tmp_path: Path) -> None:
    nowhere = {"__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent.json", "PYOPENGL_PLATFORM": "", "MUJOCO_GL": "egl"}
    sentence = refused(tmp_path, station=CONFIG / "sim.yaml", **nowhere)
    assert "libegl1" in sentence


def test_every_failed_device_is_in_the_one_sentence(tmp_path: Path) -> None:
    text = (
        SERVO % (tmp_path / "ttyACM7")
        + f"  - {{driver: servo_arm, name: leader, port: {tmp_path / 'ttyACM8'}, joints: {{a: 1}}}}\n"
    )
    sentence = refused(tmp_path, text)
    assert sentence.startswith("teleop: 2 devices failed: arm: ")
    assert "ttyACM8" in sentence


@pytest.mark.parametrize("verb", ["list", "show", "verify", "recover"])
def test_a_collection_that_does_not_exist(tmp_path: Path, verb: str) -> None:
    assert "no episode or collection at" in teleop("episodes", verb, tmp_path / "nowhere", expect=2).stderr


def test_an_export_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = teleop("export", "lerobot", tmp_path / "empty", tmp_path / "out", expect=2)
    assert done.stderr.startswith("teleop: ")
    assert not (tmp_path / "out").exists()


def test_a_station_that_does_not_answer() -> None:
    assert "no station answers at" in teleop("status", "--connect", "tcp://127.0.0.1:1", expect=2).stderr
