"""Episodes on disk: written while they happen, readable at once, repairable after a crash.

Usable without ROS, Qt or any driver. Importing this package does not import zarr; opening an episode does.
"""
