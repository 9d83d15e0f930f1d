"""Does a value fit its field? Exactly, or by a conversion that loses nothing but floating-point precision."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recorder.errors import StreamValueError
from recorder.streams import FieldSpec

LARGEST_STAMP = 2**63 - 1
_INTEGER: tuple[type, ...] = (int, np.integer)


class FieldCheck:
    """Checks the values of one field of one stream."""

    def __init__(self, stream: str, field: FieldSpec) -> None:
        self._place = f"stream {stream}, field {field.name}"
        self._dtype = np.dtype(field.dtype)
        self._shape = field.shape

    def __call__(self, value: ArrayLike) -> NDArray[Any]:
        """Give the value as an array of the field's dtype and shape.

        Raises:
            StreamValueError: It does not fit.
        """
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise StreamValueError(f"{self._place}: not an array: {error}") from error
        if array.shape != self._shape:
            raise StreamValueError(f"{self._place}: shape {array.shape} instead of {self._shape}")
        return array if array.dtype == self._dtype else self._convert(array)

    def _convert(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and self._dtype.kind != "f"):
            raise StreamValueError(f"{self._place}: dtype {array.dtype} instead of {self._dtype}")
        with np.errstate(over="ignore"):
            converted = array.astype(self._dtype)
        if array.dtype.kind == "f":
            lossless = np.array_equal(np.isinf(converted), np.isinf(array))
        else:
            lossless = np.array_equal(converted, array)
        if not lossless:
            raise StreamValueError(f"{self._place}: {array.tolist()} does not fit {self._dtype}")
        return converted


def check_stamps(stream: str, time_ns: int, received_ns: int) -> None:
    """Refuse stamps that are not positive int64; zero marks a row that was never written.

    Raises:
        StreamValueError: A stamp is out of range or no integer.
    """
    for name, stamp in (("time", time_ns), ("received", received_ns)):
        if not isinstance(stamp, _INTEGER) or not 0 < stamp <= LARGEST_STAMP:
            raise StreamValueError(f"stream {stream}: {name} {stamp!r} is not a positive 64-bit integer of nanoseconds")
