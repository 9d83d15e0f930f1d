"""What a stream writer promises, and what writers of numbers and of images have in common."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recorder.committer import Committer
from recorder.episode import StreamSummary
from recorder.errors import RecorderError, StreamStorageError
from recorder.stamps import StampCounter
from recorder.stream_files import StreamFolder
from recorder.streams import StreamSpec

Values = Mapping[str, ArrayLike] | bytes | bytearray | memoryview | NDArray[np.uint8] | NDArray[np.uint16]
"""One sample: a value for each field, or a JPEG, RGB pixels or depth."""


@runtime_checkable
class StreamWriter(Protocol):
    """Appends to one stream. `append` is called by one thread; the rest by any."""

    @property
    def summary(self) -> StreamSummary:
        """The figures so far."""

    def append(self, time_ns: int, received_ns: int, values: Values) -> None:
        """Store one sample; once this returns it survives the death of the process.

        Args:
            time_ns: When it was true, positive [ns].
            received_ns: When it reached the host, positive [ns].
            values: Numbers: a value for every field. Images: RGB pixels, uint8 (H, W, 3), or a JPEG, kept byte for
                byte; depth, uint16 (H, W).

        Raises:
            StreamValueError: Something does not fit; nothing was stored.
            StreamStorageError: The disk did not take it or an earlier commit; the sample was not stored.
        """

    def add_drops(self, count: int) -> None:
        """Count samples that are known to be lost before they came here."""

    def commit(self) -> None:
        """Carry all samples to the disk, then publish the stream's length.

        A background thread of the process calls this about once a second.

        Raises:
            StreamStorageError: The disk refused; every later append raises it too.
        """

    def close(self) -> StreamSummary:
        """Commit and let go of all files; idempotent."""


class FileStreamWriter(ABC):
    """The life of a stream's files: appended under one lock, committed and closed under another."""

    def __init__(self, spec: StreamSpec, folder: StreamFolder) -> None:
        self._name = spec.name
        self._folder = folder
        self._counter = StampCounter(spec.rate_hz)
        self._committer: Committer | None = None
        self._failure: StreamStorageError | None = None
        self._closed = False
        self._checksums: dict[str, tuple[int, ...]] = {}
        self._append_lock = threading.Lock()
        self._commit_lock = threading.Lock()

    @property
    def summary(self) -> StreamSummary:
        """The figures so far; checksums only once it is closed."""
        with self._append_lock:
            return self._counter.summary().model_copy(update={"checksums": self._checksums})

    @abstractmethod
    def append(self, time_ns: int, received_ns: int, values: Values) -> None:
        """Store one sample."""

    def add_drops(self, count: int) -> None:
        """Count samples that are known to be lost before they came here."""
        with self._append_lock:
            self._counter.drops += count

    def start(self, committer: Committer) -> None:
        """Make the first files, and have a background thread commit the stream until it is closed.

        Raises:
            StreamStorageError: The disk is full; the stream is closed.
        """
        try:
            self._prepare()
        except OSError as error:
            failure = self._fail(error)
            self.close()
            raise failure from error
        self._committer = committer
        committer.add(self)

    def commit(self) -> None:
        """Carry all samples to the disk, then publish the stream's length.

        Raises:
            StreamStorageError: The disk refused; every later append raises it too.
        """
        with self._commit_lock:
            if not self._closed and self._failure is None:
                self._commit_or_fail()

    def close(self) -> StreamSummary:
        """Commit and let go of all files; idempotent.

        Raises:
            StreamStorageError: The disk refused the last commit; the stream needs `recover`.
        """
        if self._committer is not None:
            self._committer.remove(self)
        with self._commit_lock:
            if not self._closed:
                with self._append_lock:
                    self._closed = True
                try:
                    self._commit_or_fail()
                finally:
                    self._release()
                    self._folder.release()
        return self.summary

    def _commit_or_fail(self) -> None:
        try:
            self._commit()
        except OSError as error:
            raise self._fail(error) from error

    def _require_writable(self) -> None:
        if self._closed:
            raise RecorderError(f"stream {self._name} is closed")
        if self._failure is not None:
            raise self._failure

    def _fail(self, error: OSError) -> StreamStorageError:
        sentence = f"stream {self._name} of {self._folder.path.parent}: {error.strerror or error}"
        self._failure = StreamStorageError(sentence)
        return self._failure

    @abstractmethod
    def _prepare(self) -> None:
        """Make the files that the first sample needs."""

    @abstractmethod
    def _commit(self) -> None:
        """Data first, length after; `_commit_lock` is held. If `_closed`, everything there is."""

    @abstractmethod
    def _release(self) -> None:
        """Close every file, in whatever state."""
