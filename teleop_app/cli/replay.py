"""`teleop replay`: play a recorded data set as live ROS 2 topics, for rehearsals without the robot."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer


def replay(
    data: Annotated[Path, typer.Argument(help="Folder with episode_*.parquet and .mp4.", show_default=False)],
    *,
    image: Annotated[Literal["compressed", "raw"], typer.Option(help="How frames are published.")] = "compressed",
    gap_s: Annotated[float, typer.Option("--gap-s", help="Silence between episodes, in seconds.")] = 2.0,
) -> None:
    """Publish joint states, joint commands and the head camera in real time, then exit."""
    command = [sys.executable, "-m", "drivers.ros2.replay", str(data), "--image", image, "--gap-s", str(gap_s)]
    raise typer.Exit(subprocess.run(command, check=False).returncode)
