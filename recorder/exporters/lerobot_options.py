"""What a user may choose of a LeRobot export."""

from pydantic import Field

from recorder.exporters.lerobot_video import VideoOptions
from recorder.exporters.row_options import RowOptions
from recorder.segments import Outcome


class LerobotOptions(RowOptions):
    """How episodes become a LeRobot v3.0 data set; the bytes depend on nothing else."""

    video: VideoOptions = VideoOptions()
    robot_type: str | None = None
    """Name of the robot in the data set; None for the station's name where all episodes share it."""
    episodes: tuple[str, ...] = ()
    """Identities of the episodes to take; empty for all."""
    outcomes: tuple[Outcome, ...] = ()
    """Outcomes to take; empty for all."""
    strict: bool = False
    """Refuse the whole export where an episode would be left out."""
    use_tactile: bool = True
    """Take the tactile streams that every episode has."""
    overwrite: bool = Field(default=False, exclude=True)
    """Replace an earlier export of this application; says nothing about the data."""
