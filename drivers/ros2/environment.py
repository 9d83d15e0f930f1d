"""What a ROS 2 process needs in its environment, and one sentence when there is no ROS 2."""

import importlib
import os
from pathlib import Path

from drivers.errors import DriverError

DISCOVERY_VARIABLE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""The name that Fast DDS 2.14 (Jazzy) reads, and the one that Fast DDS 3 documents."""
LARGEST_DOMAIN = 232
"""Beyond it the port numbers of RTPS (7400 + 250 * domain + ...) exceed 65535."""
ROS_MODULES = ("rclpy", "sensor_msgs.msg", "trajectory_msgs.msg", "std_msgs.msg")
HOST_PROFILE = Path(__file__).with_name("fastdds_profile.xml")
NETWORK_PROFILE = Path(__file__).with_name("fastdds_profile_network.xml")


def prepare_environment() -> None:
    """Fill in what the user has not set: discovery on this host only, Fast DDS, and the profile for large images.

    Must run before the first ROS context of the process; a value that is already set is never changed.
    """
    discovery = os.environ.setdefault(DISCOVERY_VARIABLE, "LOCALHOST")
    os.environ.setdefault("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    if any(variable in os.environ for variable in PROFILE_VARIABLES):
        return
    profile = HOST_PROFILE if discovery == "LOCALHOST" else NETWORK_PROFILE
    for variable in PROFILE_VARIABLES:
        os.environ[variable] = str(profile)


def require_ros() -> None:
    """Import rclpy and the messages that the drivers use.

    Raises:
        DriverError: ROS 2 or one of its message packages cannot be imported, or ROS_DOMAIN_ID is out of range.
    """
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not domain.isdecimal() or int(domain) > LARGEST_DOMAIN:  # Fast DDS would end the process
        raise DriverError(f"ROS_DOMAIN_ID is {domain!r}, allowed are 0 to {LARGEST_DOMAIN}")
    prepare_environment()
    try:
        for module in ROS_MODULES:
            importlib.import_module(module)
    except ImportError as error:
        raise DriverError(
            f"ROS 2 cannot be imported ({error}): on Linux x86-64 run `pip install 'teleop-app[ros2]'`, "
            "elsewhere source a ROS 2 installation (setup.bash) before starting"
        ) from error
