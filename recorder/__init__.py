"""Episodes on disk: written while they happen, readable at once, repairable after a crash.

Usable without ROS, Qt or any driver. Importing this package imports neither numpy nor zarr; `recorder.open` is
`recorder.reader.open_episode`, loaded when it is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recorder.reader import open_episode as open  # noqa: A004 - recorder.open(path) reads like the builtin it mirrors

__all__ = ["open"]


def __getattr__(name: str) -> Any:
    if name == "open":
        from recorder.reader import open_episode

        return open_episode
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
