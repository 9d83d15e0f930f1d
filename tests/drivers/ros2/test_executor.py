"""One runtime per process: shared, restarted many times, and gone without a trace."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from drivers.configs import Ros2ArmConfig, Ros2CameraConfig
from drivers.errors import DriverError
from drivers.ros2.arm import Ros2Arm
from drivers.ros2.camera import Ros2Camera
from drivers.ros2.environment import HOST_PROFILE, NETWORK_PROFILE, PROFILE_VARIABLES, prepare_environment

ROOT = Path(__file__).parents[3]


def executor_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ros2-executor"]


def dds_segments() -> set[Path]:
    """Shared memory of Fast DDS that this process has mapped, but for the ports, which all processes share."""
    paths = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    return {Path(path) for path in paths if path.startswith("/dev/shm/fastrtps_") and "port" not in path}


def arm(**changes: object) -> Ros2Arm:
    return Ros2Arm(Ros2ArmConfig(**{"name": "arm", "joints": ("a", "b"), "wait_for_data": False} | changes))


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=30)


def test_importing_the_drivers_loads_no_ros():
    code = (
        "import sys, drivers, drivers.build, drivers.ros2.arm, drivers.ros2.camera, drivers.ros2.replay\n"
        "from drivers.configs import Ros2ArmConfig\n"
        "drivers.build.build_arm(Ros2ArmConfig(name='a', joints=('x',)), 'run')\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('rclpy', 'sensor_msgs', 'av', 'pyarrow')))\n"
    )
    result = run_python(code)
    assert (result.stdout.strip(), result.returncode) == ("[]", 0), result.stderr


def test_without_ros_connect_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "rclpy", None)
    with pytest.raises(DriverError, match=r"pip install 'teleop-app\[ros2\]'.*source a ROS 2"):
        arm().connect()
    assert executor_threads() == []


@pytest.mark.parametrize("domain", ["233", "-1", "lab"])
def test_a_domain_that_does_not_exist_is_one_sentence(monkeypatch, domain):
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    with pytest.raises(DriverError, match=f"ROS_DOMAIN_ID is '{domain}', allowed are 0 to 232"):
        arm().connect()


@pytest.mark.parametrize(("discovery", "profile"), [(None, HOST_PROFILE), ("SUBNET", NETWORK_PROFILE)])
def test_the_environment_is_filled_in_but_never_overridden(monkeypatch, discovery, profile):
    for variable in (*PROFILE_VARIABLES, "ROS_AUTOMATIC_DISCOVERY_RANGE"):
        monkeypatch.setenv(variable, "to be restored")
        monkeypatch.delenv(variable)
    if discovery:
        monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", discovery)
    prepare_environment()
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == (discovery or "LOCALHOST")
    assert os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"] == str(profile)
    assert profile.is_file()
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", "mine.xml")
    prepare_environment()
    assert os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"] == "mine.xml"


def test_the_launch_files_show_the_profiles_that_are_used():
    for profile in (HOST_PROFILE, NETWORK_PROFILE):
        assert (ROOT / "launch" / "ros2" / profile.name).read_text() == profile.read_text()


@pytest.mark.ros2
def test_all_drivers_share_one_thread_and_the_last_one_ends_it():
    first = arm()
    second = Ros2Camera(Ros2CameraConfig(name="cam", topic="/image", wait_for_data=False))
    try:
        first.connect()
        second.connect()
        assert len(executor_threads()) == 1
        first.disconnect()
        assert len(executor_threads()) == 1
    finally:
        first.disconnect()
        second.disconnect()
    assert executor_threads() == []


@pytest.mark.ros2
def test_disconnect_works_before_connect_and_twice():
    device = arm()
    device.disconnect()
    device.connect()
    device.disconnect()
    device.disconnect()
    with pytest.raises(DriverError, match="connect first"):
        device.read(0.0)


@pytest.mark.ros2
@pytest.mark.parametrize("topic", ["/with space", "//double", ""])
def test_a_topic_name_that_is_not_valid_is_one_sentence(topic):
    with pytest.raises(DriverError, match="not a valid topic name"):
        arm(joint_state_topic=topic).connect()
    assert executor_threads() == []


@pytest.mark.ros2
@pytest.mark.slow
def test_twenty_starts_and_stops_with_data_flowing_leave_nothing_behind(publish):
    stream = {"topic": "/joint_states", "kind": "joint_state", "names": ["a", "b"], "rate_hz": 200, "count": 8000}
    segments = set()
    with publish(stream | {"wait": False}) as foreign:
        foreign.wait_for("ready")
        for _ in range(20):
            device = arm()
            device.connect()
            segments |= dds_segments()
            assert device.read(5.0) is not None
            device.disconnect()
            assert executor_threads() == []
    assert segments
    assert [path for path in segments if path.exists()] == []


@pytest.mark.ros2
@pytest.mark.slow
def test_a_process_that_forgets_to_disconnect_ends_cleanly():
    code = (
        "from drivers.configs import Ros2ArmConfig\n"
        "from drivers.ros2.arm import Ros2Arm\n"
        "arm = Ros2Arm(Ros2ArmConfig(name='a', joints=('x',), wait_for_data=False))\n"
        "arm.connect()\n"
    )
    result = run_python(code)
    assert (result.returncode, result.stderr) == (0, "")
