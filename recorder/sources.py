"""Who commanded at a given time, as the control stream tells it."""

import numpy as np
from numpy.typing import NDArray

from recorder.align import BoolArray, Int64Array, align
from recorder.reader import NumericStream
from recorder.segments import ControlSource


def changes_of_source(control: NumericStream | None) -> Int64Array:
    """Give the first tick of every new control source, (changes,) [ns]; none without a control stream."""
    if control is None or not len(control):
        return np.empty(0, np.int64)
    source = control.field("source")
    edges: Int64Array = control.time[1:][source[1:] != source[:-1]]
    return edges


def source_at(control: NumericStream | None, times: Int64Array) -> tuple[NDArray[np.uint8], BoolArray]:
    """Give each time the control source of the last tick at or before it, and whether that was the operator.

    Shared control counts as the operator's where the operator's share is at least one half.

    Args:
        control: The control stream; without one nobody commanded.
        times: (rows,) [ns], increasing.

    Returns:
        (rows,) ControlSource values, NONE before the first tick; (rows,) whether the operator commanded.
    """
    if control is None or not len(control):
        return np.zeros(len(times), np.uint8), np.zeros(len(times), np.bool_)
    tick = align(control.time, times, "previous")
    known = np.isfinite(tick.age_s)
    source: NDArray[np.uint8] = np.where(known, tick.take(control.field("source")), ControlSource.NONE).astype(np.uint8)
    operator: BoolArray = source == ControlSource.OPERATOR
    if any(field.name == "blend" for field in control.spec.fields):
        operator |= (source == ControlSource.SHARED) & (tick.take(control.field("blend")) >= 0.5)
    return source, operator
