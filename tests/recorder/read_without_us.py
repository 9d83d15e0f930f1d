"""Reads an episode with plain zarr and xarray, nothing of ours imported; prints what it found as JSON.

Run as `python read_without_us.py EPISODE`, on Python 3.12 or later with zarr, xarray, imagecodecs and imagecodecs-zarr.
"""

import json
import sys
import warnings

import xarray
import zarr


def main(path: str) -> None:
    """Read every array whole."""
    warnings.simplefilter("error")
    root = zarr.open_group(path, mode="r")
    found = {
        "task": root.attrs["task"],
        "members": sorted(name for name, _ in root.members()),
        "time": root["arm/time"][:].tolist(),
        "position": root["arm/position"][:].tolist(),
        "frame": root["camera/image"][299].tolist(),
        "frames": list(root["camera/image"].shape),
    }
    with xarray.open_zarr(path, group="arm") as arm, xarray.open_zarr(path, group="camera") as camera:
        found["xarray position"] = arm.position.values.tolist()
        found["xarray time"] = str(arm.time.dtype)
        found["xarray frame"] = camera.image[299].values.tolist()
        found["xarray units"] = arm.position.attrs["units"]
    ours = [name for name in sys.modules if name.split(".")[0] in ("recorder", "drivers", "teleop_app")]
    sys.stdout.write(json.dumps({**found, "ours": ours}))


if __name__ == "__main__":
    main(sys.argv[1])
