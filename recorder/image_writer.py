"""Writes a stream of images: each frame is appended to the current shard file as a record, in one system call.

A full shard gets its index at once; its stamps and the stream's new length follow on the next commit. So the visible
length of an image stream moves by whole shards while it is recorded, and a reader never meets a shard without index.
"""

import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from recorder import encodings, shard
from recorder.errors import StreamValueError
from recorder.field_check import check_stamps
from recorder.metadata import FRAMES_PER_SHARD, IMAGE
from recorder.row_files import RowFiles
from recorder.stream_files import StreamFolder
from recorder.stream_writer import FileStreamWriter, Values
from recorder.streams import ImageStreamSpec


@dataclass
class OpenShard:
    """A shard file in the making."""

    first_row: int
    path: Path
    descriptor: int
    size: int = 0
    entries: list[tuple[int, int]] = field(default_factory=list)
    stamps: list[tuple[int, int]] = field(default_factory=list)
    """(time, received) of each frame [ns]."""

    def append(self, header: bytes, payload: bytes, stamps: tuple[int, int]) -> None:
        """Add a record to the file; on failure the file is as before.

        Raises:
            OSError: The disk is full.
        """
        written = os.writev(self.descriptor, (header, payload))
        if written != len(header) + len(payload):
            os.ftruncate(self.descriptor, self.size)
            os.lseek(self.descriptor, self.size, os.SEEK_SET)
            raise OSError(f"the disk took only {written} of {len(header) + len(payload)} bytes of a frame; is it full?")
        self.entries.append((self.size + len(header), len(payload)))
        self.stamps.append(stamps)
        self.size += written

    def write_index(self) -> None:
        """Finish the file."""
        os.write(self.descriptor, shard.pack_index(self.entries))


class ImageStreamWriter(FileStreamWriter):
    """Appends to one stream of images."""

    def __init__(self, spec: ImageStreamSpec, folder: StreamFolder) -> None:
        super().__init__(spec, folder)
        time, received, self._frames = folder.arrays
        self._spec = spec
        self._stamps = [RowFiles(folder.path / array.name, array) for array in (time, received)]
        self._chunk_rows = time.chunk_rows
        self._shard: OpenShard | None = None
        self._prepared: OpenShard | None = None
        self._create_lock = threading.Lock()
        self._full: list[OpenShard] = []
        self._committed = 0
        self._published_drops = 0

    def append(self, time_ns: int, received_ns: int, values: Values) -> None:
        """Store one frame; once this returns it survives the death of the process.

        Args:
            time_ns: When it was true [ns].
            received_ns: When it reached the host [ns].
            values: RGB pixels, uint8 (H, W, 3), for a JPEG stream also a JPEG, kept byte for byte; depth, uint16
                (H, W). Pixels are encoded here.

        Raises:
            StreamValueError: It does not fit the stream's encoding or size; nothing was stored.
            StreamStorageError: The disk did not take it or an earlier commit; the frame was not stored.
        """
        check_stamps(self._name, time_ns, received_ns)
        payload = self._payload(values)
        with self._append_lock:
            self._require_writable()
            row = self._counter.samples
            try:
                current = self._shard or self._next_shard(row)
                current.append(shard.pack_header(row, time_ns, received_ns, payload), payload, (time_ns, received_ns))
                self._counter.add(time_ns, received_ns, len(payload))
                if len(current.entries) == FRAMES_PER_SHARD:
                    self._finish_shard(current)
            except OSError as error:
                raise self._fail(error) from error

    def _payload(self, values: Values) -> bytes:
        try:
            return encodings.pack(values, self._spec)
        except ValueError as error:
            raise StreamValueError(f"stream {self._name}: {error}") from error

    def _prepare(self) -> None:
        self._next_shard(0)

    def _next_shard(self, row: int) -> OpenShard:
        with self._create_lock:
            self._shard, self._prepared = self._prepared or self._create_shard(row), None
            return self._shard

    def _create_ahead(self) -> None:
        """Make the file of the next shard before it is needed, so that `append` does not wait for the file system."""
        with self._create_lock:
            current = self._shard
            if current is not None and self._prepared is None and len(current.entries) >= FRAMES_PER_SHARD // 2:
                self._prepared = self._create_shard(current.first_row + FRAMES_PER_SHARD)

    def _create_shard(self, row: int) -> OpenShard:
        path = self._frames.chunk_path(self._folder.path / IMAGE, row // FRAMES_PER_SHARD)
        path.parent.mkdir(parents=True, exist_ok=True)
        return OpenShard(row, path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))

    def _finish_shard(self, current: OpenShard) -> None:
        current.write_index()
        self._full.append(current)
        self._shard = None

    def _commit(self) -> None:
        with self._append_lock:
            if self._closed and self._shard is not None and self._shard.entries:
                self._finish_shard(self._shard)
            full, current, drops = tuple(self._full), self._shard, self._counter.drops
        for done in full:
            self._sync_full(done)
        if full or drops != self._published_drops:
            self._folder.publish(self._committed, drops)
            self._published_drops = drops
        if current is not None:
            os.fdatasync(current.descriptor)
        if not self._closed:
            self._create_ahead()

    def _sync_full(self, done: OpenShard) -> None:
        os.fdatasync(done.descriptor)
        number, row = divmod(done.first_row, self._chunk_rows)
        stop = row + len(done.stamps)
        for column, files in enumerate(self._stamps):
            rows = files.reach(number)
            files.reserve(row, len(done.stamps))
            rows[row:stop] = [stamps[column] for stamps in done.stamps]
            files.sync(*files.unsynced())
        self._committed = done.first_row + len(done.stamps)
        os.close(done.descriptor)
        self._full.remove(done)

    def _release(self) -> None:
        for left in (*self._full, self._shard, self._prepared):
            if left is not None:
                os.close(left.descriptor)
                if not left.entries:
                    left.path.unlink()
        self._full, self._shard, self._prepared = [], None, None
        for files in self._stamps:
            files.close(self._committed)
        self._checksums = {files.array.name: tuple(files.checksums) for files in self._stamps}
