"""Does a value fit its field? Exactly, or by a conversion that loses nothing but floating-point precision."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.errors import StreamValueError
from recorder.streams import FieldSpec

_LAST = 2**63 - 1
_SCALARS: dict[str, type] = {"float64": float, "bool": bool}
"""Python's own scalars that fit a dtype whatever their value."""
_NONE = (1, 0)
"""No integer is within these limits."""
_INTEGER: tuple[type, ...] = (int, np.integer)


class FieldCheck:
    """Checks the values of one field of one stream; runs for every field of every row, hence the shortcuts."""

    def __init__(self, stream: str, field: FieldSpec) -> None:
        self._place = f"stream {stream}, field {field.name}"
        self._dtype = np.dtype(field.dtype)
        self._shape = field.shape
        self._scalar = None if field.shape else _SCALARS.get(field.dtype)
        self._least, self._most = _limits(self._dtype) if not field.shape else _NONE

    def __call__(self, value: Any) -> Any:
        """Give the value as something that can be stored as it is in a row of the field.

        Raises:
            StreamValueError: It does not fit.
        """
        if type(value) is np.ndarray and value.dtype is self._dtype and value.shape == self._shape:
            return value
        if isinstance(value, int) and self._least <= value <= self._most:
            return value
        if type(value) is self._scalar:
            return value
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise StreamValueError(f"{self._place}: not an array: {error}") from error
        if array.shape != self._shape:
            raise StreamValueError(f"{self._place}: shape {array.shape} instead of {self._shape}")
        return array if array.dtype == self._dtype else self._convert(array)

    def _convert(self, array: NDArray[Any]) -> NDArray[Any]:
        source, target = array.dtype.kind, self._dtype.kind
        if source not in "biuf" or (source == "f" and target != "f"):
            raise StreamValueError(f"{self._place}: dtype {array.dtype} instead of {self._dtype}")
        with np.errstate(over="ignore"):
            converted = array.astype(self._dtype)
        same = np.isinf(converted) == np.isinf(array) if source == "f" else converted == array
        if not same.all():
            raise StreamValueError(f"{self._place}: {array.tolist()} does not fit {self._dtype}")
        return converted


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Least and greatest integer of a dtype."""
    if dtype.kind not in "iu":
        return _NONE
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def check_stamps(stream: str, time_ns: int, received_ns: int) -> None:
    """Refuse stamps that are not positive int64; zero marks a row that was never written.

    Raises:
        StreamValueError: A stamp is out of range or no integer.
    """
    if type(time_ns) is int and type(received_ns) is int and 0 < time_ns <= _LAST and 0 < received_ns <= _LAST:
        return
    for name, stamp in (("time", time_ns), ("received", received_ns)):
        if not isinstance(stamp, _INTEGER) or not 0 < stamp <= _LAST:
            raise StreamValueError(f"stream {stream}: {name} {stamp!r} is not a positive 64-bit integer of nanoseconds")
