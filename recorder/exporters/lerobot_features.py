"""The columns of a LeRobot data set, described in its own terms."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recorder.exporters.contract import Frozen
from recorder.exporters.lerobot_options import LerobotOptions
from recorder.exporters.lerobot_tables import DEFAULT_FEATURES
from recorder.exporters.lerobot_video import pixel_format
from recorder.segments import ControlSource

IMAGES = "observation.images."
TACTILE = "observation.tactile."


class Columns(Frozen):
    """What must be the same in every episode of a data set."""

    state: tuple[str, ...]
    action: tuple[str, ...]
    cameras: tuple[tuple[str, int, int], ...]
    """Name, height, width."""


def features_of(
    columns: Columns, tactile: Mapping[str, tuple[int, ...]], options: LerobotOptions
) -> dict[str, dict[str, Any]]:
    """Describe the columns in the order in which they are stored.

    Args:
        columns: What all episodes share.
        tactile: Name of each tactile stream used -> shape of one sample, which is stored flat in C order.
        options: Rate and compression of the videos.
    """

    def vector(names: Sequence[str]) -> dict[str, Any]:
        return {"dtype": "float32", "shape": [len(names)], "names": list(names)}

    codes = {source.name.lower(): source.value for source in ControlSource}
    features = {"observation.state": vector(columns.state), "action": vector(columns.action)}
    for name, shape in tactile.items():
        size = int(np.prod(shape))
        features[TACTILE + name] = vector([f"{name}_{index}" for index in range(size)]) | {
            "info": {"shape": list(shape), "order": "C"}
        }
    features |= {IMAGES + name: _video(height, width, options) for name, height, width in columns.cameras}
    features["intervention"] = {"dtype": "bool", "shape": [1], "names": None}
    features["control_source"] = {"dtype": "int64", "shape": [1], "names": None, "info": {"codes": codes}}
    return features | {key: dict(feature) for key, feature in DEFAULT_FEATURES.items()}


def _video(height: int, width: int, options: LerobotOptions) -> dict[str, Any]:
    return {
        "dtype": "video",
        "shape": [height, width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": "h264",
            "video.pix_fmt": pixel_format(height, width),
            "video.is_depth_map": False,
            "video.fps": options.fps,
            "video.channels": 3,
            "has_audio": False,
            "is_depth_map": False,
            "video.g": options.video.gop,
            "video.crf": options.video.crf,
            "video.preset": options.video.preset,
        },
    }
