"""Part of a stream by time: which rows it has, read when they are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recorder.reader import ImageStream, NumericStream


def rows_between(time: NDArray[np.int64], start_ns: int | None, stop_ns: int | None) -> NDArray[np.int64]:
    """Find the rows in [start_ns, stop_ns), also where stamps step back.

    Args:
        time: (T,) stamps [ns].
        start_ns: None for no bound [ns].
        stop_ns: None for no bound [ns].

    Returns:
        Their indices, ascending.
    """
    chosen = np.ones(len(time), np.bool_)
    if start_ns is not None:
        chosen &= time >= start_ns
    if stop_ns is not None:
        chosen &= time < stop_ns
    return np.flatnonzero(chosen).astype(np.int64)


@dataclass(frozen=True, slots=True)
class NumericSlice:
    """Some rows of a stream of numbers."""

    stream: "NumericStream"
    rows: NDArray[np.int64]
    """(N,) indices into the stream, ascending."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def time(self) -> NDArray[np.int64]:
        """(N,) when each sample was true [ns]."""
        return self.stream.time[self.rows]

    def field(self, name: str) -> NDArray[Any]:
        """Values of one field, (N, *shape) in the field's unit; only the rows between the outermost are read.

        Raises:
            KeyError: The stream has no such field.
            EpisodeFormatError: Rows are lost.
        """
        if not len(self.rows):
            return self.stream.field(name, 0, 0)
        first, last = int(self.rows[0]), int(self.rows[-1])
        return self.stream.field(name, first, last + 1)[self.rows - first]


@dataclass(frozen=True, slots=True)
class FrameSlice:
    """Some frames of a camera. Not for several threads at once."""

    stream: "ImageStream"
    rows: NDArray[np.int64]
    """(N,) indices into the stream, ascending."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def time(self) -> NDArray[np.int64]:
        """(N,) when each frame was true [ns]."""
        return self.stream.time[self.rows]

    def frame(self, index: int) -> NDArray[Any]:
        """Frame `index` of the slice as pixels, (H, W, 3).

        Raises:
            IndexError: The slice has no such frame.
            EpisodeFormatError: The frame is lost or damaged.
        """
        return self.stream.frame(int(self.rows[index]))

    def frames(self) -> Iterator[NDArray[Any]]:
        """Yield the frames in order, each decoded when its turn comes; errors as those of `frame`."""
        return (self.frame(index) for index in range(len(self)))
