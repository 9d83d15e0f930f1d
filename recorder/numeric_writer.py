"""Writes a stream of numbers: a row is copied into mapped files, its stamp last.

The stamp is stored after everything else of its row, so that after a kill a row is whole exactly if its stamp is not
zero. Lengths in the metadata follow on commit: data first, then lengths.
"""

import threading
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from recorder.errors import StreamValueError
from recorder.field_check import FieldCheck, check_stamps
from recorder.metadata import RESERVED_PART
from recorder.row_files import RowFiles, row_bytes
from recorder.stream_files import StreamFolder
from recorder.stream_writer import FileStreamWriter, Values
from recorder.streams import NumericStreamSpec


class NumericStreamWriter(FileStreamWriter):
    """Appends to one stream of numbers."""

    def __init__(self, spec: NumericStreamSpec, folder: StreamFolder) -> None:
        super().__init__(spec, folder)
        self._checks = {field.name: FieldCheck(spec.name, field) for field in spec.fields}
        self._files = [RowFiles(folder.path / array.name, array) for array in folder.arrays]
        self._chunk_rows = folder.arrays[0].chunk_rows
        self._step = max(1, self._chunk_rows // RESERVED_PART)
        self._reserved = 0
        self._row_bytes = sum(row_bytes(array) for array in folder.arrays)
        self._rows: list[NDArray[Any]] = []
        self._committed = 0, 0
        """Rows and drops as they were published last."""
        self._allocate_lock = threading.Lock()

    def append(self, time_ns: int, received_ns: int, values: Values) -> None:
        """Store one row; once this returns it survives the death of the process.

        Args:
            time_ns: When it was true [ns].
            received_ns: When it reached the host [ns].
            values: A value for every field, in the field's unit.

        Raises:
            StreamValueError: Something does not fit; nothing was stored.
            StreamStorageError: The disk did not take it or an earlier commit; the row was not stored.
        """
        check_stamps(self._name, time_ns, received_ns)
        checked = self._check(values)
        with self._append_lock:
            self._require_writable()
            if self._counter.samples >= self._reserved:
                self._extend()
            row = self._counter.samples % self._chunk_rows
            time, received, *fields = self._rows
            for rows, value in zip(fields, checked, strict=True):
                rows[row] = value
            received[row] = received_ns
            time[row] = time_ns
            self._counter.add(time_ns, received_ns, self._row_bytes)

    def _check(self, values: Values) -> list[NDArray[Any]]:
        checks = self._checks
        if not isinstance(values, Mapping):
            raise StreamValueError(f"stream {self._name}: {type(values).__name__} instead of a value for each field")
        if values.keys() != checks.keys():
            missing = sorted(checks.keys() - values.keys())
            unknown = sorted(values.keys() - checks.keys())
            raise StreamValueError(f"stream {self._name}: missing fields {missing}, unknown fields {unknown}")
        return [check(values[name]) for name, check in checks.items()]

    def _prepare(self) -> None:
        self._extend()

    def _extend(self) -> None:
        """Make room for the next row, unless a commit has done so just now."""
        rows = self._counter.samples
        with self._allocate_lock:
            if rows < self._reserved:
                return
            try:
                if rows % self._chunk_rows == 0:
                    self._rows = [files.advance(rows // self._chunk_rows) for files in self._files]
                self._reserve()
            except OSError as error:
                raise self._fail(error) from error

    def _reserve(self) -> None:
        for files in self._files:
            files.reserve(self._reserved % self._chunk_rows, self._step)
        self._reserved += self._step

    def _reserve_ahead(self, rows: int) -> None:
        """Make room before it is needed, so that `append` does not wait for the file system."""
        with self._allocate_lock:
            if self._reserved - rows >= self._step:
                return
            if self._reserved % self._chunk_rows:
                self._reserve()
            else:
                for files in self._files:
                    files.prepare(self._reserved // self._chunk_rows)

    def _commit(self) -> None:
        with self._append_lock:
            rows, drops = self._counter.samples, self._counter.drops
            pending = [files.unsynced() for files in self._files]
        if (rows, drops) == self._committed:
            return
        for files, (full, current) in zip(self._files, pending, strict=True):
            files.sync(full, current)
        self._folder.publish(rows, drops)
        self._committed = rows, drops
        if not self._closed:
            self._reserve_ahead(rows)

    def _release(self) -> None:
        self._rows = []
        rows = self._counter.samples
        for files in self._files:
            files.close(rows)
        self._checksums = {files.array.name: tuple(files.checksums) for files in self._files}
