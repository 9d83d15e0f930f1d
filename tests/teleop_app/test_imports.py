"""What is imported when: a robot PC without Qt, ROS or a simulator runs the command line."""

import subprocess
import sys

import pytest

HEAVY = ("rclpy", "PyQt6", "mujoco", "torch", "dask", "zarr", "pyarrow", "av")


@pytest.mark.parametrize("package", ["drivers", "recorder", "recorder.writer", "teleop_app.cli"])
def test_importing_loads_nothing_heavy(package: str) -> None:
    program = f"import sys, {package}; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
