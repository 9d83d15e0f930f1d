"""Statistics of a LeRobot data set, exact over all rows.

Quantiles of a union are not a mean of the parts' quantiles, so they are taken over all rows of all episodes at once.
For images all that matters of a frame is how often each of 256 values occurs in each channel, which adds up exactly.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

QUANTILES: Mapping[str, float] = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
NAMES = ("min", "max", "mean", "std", "count", *QUANTILES)
_LEVELS = 256

Stats = dict[str, list[Any]]
"""min, max, mean, std, count, q01, q10, q50, q90, q99, each as nested lists."""
Histogram = NDArray[np.int64]
"""(3, 256) how often each value of each channel occurs."""


def vector_stats(values: NDArray[Any]) -> Stats:
    """Compute the statistics of a column.

    Args:
        values: (rows, size), or (rows,) for a column of single numbers; at least one row.

    Returns:
        Lists of `size` numbers; std is that of the population; `count` is [rows].
    """
    table = values.reshape(len(values), -1).astype(np.float64)
    quantiles = np.quantile(table, list(QUANTILES.values()), axis=0)
    return {
        "min": table.min(0).tolist(),
        "max": table.max(0).tolist(),
        "mean": table.mean(0).tolist(),
        "std": table.std(0).tolist(),
        "count": [len(table)],
        **{name: row.tolist() for name, row in zip(QUANTILES, quantiles, strict=True)},
    }


def frame_histogram(frame: NDArray[np.uint8]) -> Histogram:
    """Count the values of one frame, (height, width, 3), in each channel."""
    counts = [cv2.calcHist([frame], [channel], None, [_LEVELS], [0, _LEVELS]) for channel in range(3)]
    return np.stack(counts).reshape(3, _LEVELS).astype(np.int64)


def image_stats(histogram: Histogram, frames: int) -> Stats:
    """Compute the statistics of all pixels of all frames, as values in [0, 1].

    Args:
        histogram: Sum of the frames' histograms.
        frames: How many they are; this is the `count`, so that a video weighs as much as the rows that it belongs to.

    Returns:
        Nested lists of shape (3, 1, 1); `count` is [frames].
    """
    value = np.arange(_LEVELS) / (_LEVELS - 1)
    total = histogram.sum(1)
    mean = histogram @ value / total
    std = np.sqrt((histogram * (value - mean[:, None]) ** 2).sum(1) / total)
    present = [np.flatnonzero(row) for row in histogram]
    figures: dict[str, Sequence[float] | NDArray[np.float64]] = {
        "min": [value[row[0]] for row in present],
        "max": [value[row[-1]] for row in present],
        "mean": mean,
        "std": std,
    }
    figures |= {name: [_quantile(row, q) for row in histogram] for name, q in QUANTILES.items()}
    nested: Stats = {name: np.reshape(row, (3, 1, 1)).tolist() for name, row in figures.items()}
    return {name: [frames] if name == "count" else nested[name] for name in NAMES}


def _quantile(counts: NDArray[np.int64], q: float) -> float:
    """Interpolate between the two order statistics around q * (n - 1), as numpy does over the values themselves."""
    ends = np.cumsum(counts)
    place = q * float(ends[-1] - 1)
    below = int(place)
    low, high = np.searchsorted(ends, [below, min(below + 1, int(ends[-1]) - 1)], side="right")
    return float(low + (place - below) * (high - low)) / (_LEVELS - 1)
