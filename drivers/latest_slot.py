"""Shared memory for values of which only the newest, or the newest few, matter: one writer, many readers, no locks.

A slot is a file in /dev/shm mapped by both sides. It holds `depth` entries in rotation; value number n lives in entry
n modulo `depth`. The writer announces the number that it is about to write, writes the entry, then publishes the
number. A reader copies an entry and afterwards checks that the writer had not begun to reuse it, so a value is never
torn, a reader never waits for the writer, and a writer that dies half-way leaves the value before it readable.

The order of stores is relied on as the processor keeps it (x86-64, total store order); words are written whole.
`multiprocessing.shared_memory` is not used because its resource tracker unlinks segments that it only attached to.
"""

import fcntl
import mmap
import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from drivers.errors import DriverError

SHARED_MEMORY = Path("/dev/shm")
BytesLike = bytes | bytearray | memoryview
"""What `LatestSlot.write` takes; of a C-contiguous array, its `data`."""
_PREFIX = "teleop-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_MAGIC = int.from_bytes(b"TLSLOT\x00\x01", "little")
_WORD = 8
_HEADER_BYTES = 64
_CAPACITY, _DEPTH, _WRITING, _PUBLISHED = 1, 2, 3, 4
_ENTRY_WORDS = 8
_MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class SlotValue:
    """One value as the writer gave it."""

    sequence: int
    """1 for the first value written, then counting up without gaps."""
    stamp_ns: int
    """The writer's stamp, monotonic clock [ns]."""
    tag: int
    """The writer's number for whatever it likes."""
    payload: bytes


class LatestSlot:
    """One end of a slot; made by `create` (the writer) or `attach` (a reader), never directly."""

    def __init__(self, path: Path, descriptor: int, memory: mmap.mmap) -> None:
        """Take over an initialised mapping; `create` and `attach` do the checks."""
        self._path, self._descriptor, self._memory = path, descriptor, memory
        self._bytes = memoryview(memory)
        self._words = self._bytes.cast("q")
        self._entry_bytes = _entry_bytes(self._words[_CAPACITY])
        self._closed = False
        self.retries = 0
        """Copies that had to be repeated because the writer was faster than this reader."""

    @classmethod
    def create(cls, name: str, capacity_bytes: int, depth: int = 2) -> Self:
        """Make the slot `name` for payloads of up to `capacity_bytes`, keeping the newest `depth - 1` values safe.

        A file left behind by a writer that died is replaced.

        Raises:
            DriverError: the name is not usable, a living writer has it, or the memory cannot be had.
        """
        path = _path(name)
        if capacity_bytes < 1 or depth < 2:
            raise DriverError(f"slot {name}: capacity {capacity_bytes} and depth {depth} must be at least 1 and 2")
        if path.exists() and _has_writer(path):
            raise DriverError(f"slot {name}: {path} already has a living writer; choose another run id")
        draft = path.with_name(f"{path.name}.{os.getpid()}.new")
        size = _HEADER_BYTES + depth * _entry_bytes(capacity_bytes)
        try:
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.posix_fallocate(descriptor, 0, size)
            memory = mmap.mmap(descriptor, size)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise DriverError(f"slot {name}: cannot make {path} of {size} bytes: {error.strerror}") from error
        with memoryview(memory) as view, view.cast("q") as words:
            words[_CAPACITY], words[_DEPTH], words[0] = capacity_bytes, depth, _MAGIC
        draft.replace(path)
        return cls(path, descriptor, memory)

    @classmethod
    def attach(cls, name: str) -> Self:
        """Open the slot `name` for reading.

        Raises:
            DriverError: there is no such slot, or the file is not one.
        """
        path = _path(name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise DriverError(
                f"slot {name}: {path} cannot be opened ({error.strerror}); is its writer running?"
            ) from error
        try:
            memory = _map_for_reading(descriptor)
        except ValueError as error:
            os.close(descriptor)
            raise DriverError(
                f"slot {name}: {path} is not a slot of this version of the application: {error}"
            ) from None
        return cls(path, descriptor, memory)

    @property
    def capacity_bytes(self) -> int:
        """The longest payload [bytes]."""
        return self._words[_CAPACITY]

    @property
    def newest(self) -> int:
        """Number of the newest value, 0 before the first."""
        return self._words[_PUBLISHED]

    @property
    def replaced(self) -> bool:
        """Whether the name now stands for another file, or none: the writer has ended, and maybe started again."""
        try:
            return self._path.stat().st_ino != os.fstat(self._descriptor).st_ino
        except FileNotFoundError:
            return True

    def has_writer(self) -> bool:
        """Whether the process that created the slot still has it open; ask from another process."""
        return not self.replaced and _has_writer(self._path)

    def write(self, stamp_ns: int, payload: BytesLike, tag: int = 0) -> int:
        """Publish `payload` as the newest value and return its number.

        Raises:
            DriverError: the payload is longer than the slot's capacity.
        """
        with memoryview(payload) as given, given.cast("B") as data:
            if len(data) > self.capacity_bytes:
                raise DriverError(
                    f"slot {self._path.name}: {len(data)} bytes are more than its capacity of {self.capacity_bytes}"
                )
            sequence = self._words[_PUBLISHED] + 1
            start = self._start(sequence)
            self._words[_WRITING] = sequence
            word = start // _WORD
            self._words[word], self._words[word + 1], self._words[word + 2] = stamp_ns, tag, len(data)
            body = start + _ENTRY_WORDS * _WORD
            self._bytes[body : body + len(data)] = data
            self._words[_PUBLISHED] = sequence
        return sequence

    def read(self, after: int = 0) -> SlotValue | None:
        """Return the newest value if its number is above `after`, else None.

        Raises:
            DriverError: the writer overtook every one of 100 attempts to copy it.
        """
        for _ in range(_MAX_ATTEMPTS):
            sequence = self._words[_PUBLISHED]
            if sequence <= after:
                return None
            if (value := self._copy(sequence)) is not None:
                return value
        raise self._overtaken()

    def read_next(self, after: int) -> SlotValue | None:
        """Return the oldest value still held whose number is above `after`, else None; a gap in numbers is a loss.

        Raises:
            DriverError: the writer overtook every one of 100 attempts to copy it.
        """
        for _ in range(_MAX_ATTEMPTS):
            sequence = max(after + 1, self._words[_WRITING] - self._words[_DEPTH] + 1)
            if sequence > self._words[_PUBLISHED]:
                return None
            if (value := self._copy(sequence)) is not None:
                return value
        raise self._overtaken()

    def close(self) -> None:
        """Release the mapping; the file stays. Can be called again."""
        if self._closed:
            return
        self._closed = True
        self._words.release()
        self._bytes.release()
        self._memory.close()
        os.close(self._descriptor)

    def unlink(self) -> None:
        """Remove the name; whoever is attached keeps the memory until it closes. Can be called again."""
        remove(self._path.name.removeprefix(_PREFIX))

    def _start(self, sequence: int) -> int:
        return _HEADER_BYTES + (sequence % self._words[_DEPTH]) * self._entry_bytes

    def _copy(self, sequence: int) -> SlotValue | None:
        """Copy entry `sequence`, or count a retry and return None if the writer came round to it meanwhile."""
        start = self._start(sequence)
        word = start // _WORD
        stamp_ns, tag, length = self._words[word], self._words[word + 1], self._words[word + 2]
        body = start + _ENTRY_WORDS * _WORD
        payload = bytes(self._bytes[body : body + length])
        if self._words[_WRITING] - sequence >= self._words[_DEPTH]:
            self.retries += 1
            return None
        return SlotValue(sequence, stamp_ns, tag, payload)

    def _overtaken(self) -> DriverError:
        return DriverError(f"slot {self._path.name}: overwritten {_MAX_ATTEMPTS} times in a row while being read")


def remove(name: str) -> None:
    """Remove the slot `name` if it is there, for instance one whose writer was killed."""
    _path(name).unlink(missing_ok=True)


def _path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise DriverError(f"slot {name!r}: a name has letters, digits, '.', '_' and '-' only, at most 200 of them")
    return SHARED_MEMORY / f"{_PREFIX}{name}"


def _entry_bytes(capacity_bytes: int) -> int:
    return _ENTRY_WORDS * _WORD + (capacity_bytes + 63) // 64 * 64


def _map_for_reading(descriptor: int) -> mmap.mmap:
    """Map a slot's file; raises ValueError if it does not have the layout that its header promises."""
    size = os.fstat(descriptor).st_size
    if size < _HEADER_BYTES:
        raise ValueError(f"it has only {size} bytes")
    memory = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    magic, capacity_bytes, depth = struct.unpack_from("=3q", memory)
    if magic != _MAGIC or size != _HEADER_BYTES + depth * _entry_bytes(capacity_bytes):
        memory.close()
        raise ValueError("its header is different")
    return memory


def _has_writer(path: Path) -> bool:
    """Whether somebody holds the writer's lock, which the system drops with the process."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
