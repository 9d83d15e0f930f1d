"""The journal of an episode that is being recorded: one JSON line for each thing that happened, appended and flushed.

It holds what is not in any stream: how the episode began, events, clock anchors. Its lock, which the kernel drops when
the process dies, says whether somebody is still recording. A torn last line is what a kill in mid-write leaves; it was
never acknowledged and is passed over.
"""

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from recorder import layout
from recorder.episode import Anchor, EpisodeInfo, Event
from recorder.errors import EpisodeBusyError, EpisodeFormatError, StreamStorageError

_log = logging.getLogger(__name__)


class Journal:
    """An open, locked journal. Appends are single writes, so that threads and lines do not mix."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._append_lock = threading.Lock()
        self._sync_lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, info: EpisodeInfo) -> "Journal":
        """Begin the journal of a new episode; once this returns it survives a power loss."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        journal = cls(path, descriptor)
        layout.try_lock(descriptor)
        journal._append("start", info)
        os.fdatasync(descriptor)
        layout.sync_folder(path.parent)
        return journal

    @classmethod
    def take_over(cls, path: Path) -> "Journal":
        """Open and lock the journal of an episode that nobody records any more.

        Raises:
            EpisodeBusyError: A live process is recording the episode.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
        if not layout.try_lock(descriptor):
            os.close(descriptor)
            raise EpisodeBusyError(f"{path.with_suffix(layout.GROUP_SUFFIX)} is being recorded by a live process")
        return cls(path, descriptor)

    def event(self, event: Event) -> None:
        """Append an event.

        Raises:
            StreamStorageError: The disk did not take it.
        """
        self._append("event", event)

    def anchor(self, anchor: Anchor) -> None:
        """Append a clock anchor.

        Raises:
            StreamStorageError: The disk did not take it.
        """
        self._append("anchor", anchor)

    def commit(self) -> None:
        """Carry all lines to the disk.

        Raises:
            StreamStorageError: The disk refused.
        """
        with self._sync_lock:
            if self._descriptor is not None:
                try:
                    os.fdatasync(self._descriptor)
                except OSError as error:
                    raise self._storage_error(error) from error

    def close(self) -> None:
        """Let go of the file and its lock; idempotent."""
        with self._sync_lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _append(self, kind: str, model: BaseModel) -> None:
        if self._descriptor is None:
            raise EpisodeFormatError(f"{self.path} is closed; the episode has ended")
        line = f'{{"kind": "{kind}", "value": {model.model_dump_json()}}}\n'.encode()
        with self._append_lock:
            try:
                taken = os.write(self._descriptor, line)
                if taken != len(line):
                    os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - taken)
            except OSError as error:
                raise self._storage_error(error) from error
        if taken != len(line):
            raise StreamStorageError(f"{self.path}: the disk took only {taken} of {len(line)} bytes; is it full?")

    def _storage_error(self, error: OSError) -> StreamStorageError:
        return StreamStorageError(f"{self.path}: {error.strerror or error}")


def is_held(path: Path) -> bool:
    """Whether a live process is recording the episode of this journal."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not layout.try_lock(descriptor)
    finally:
        os.close(descriptor)


def fold(path: Path) -> EpisodeInfo:
    """Everything a journal says, as one description of the episode.

    Raises:
        EpisodeFormatError: It does not begin as a journal of this schema.
    """
    lines = [line for line in path.read_bytes().split(b"\n") if line]
    entries = [entry for number, line in enumerate(lines) if (entry := _parse(path, number, line)) is not None]
    if not entries or entries[0].get("kind") != "start":
        raise EpisodeFormatError(f"{path} does not begin with the start of an episode")
    try:
        info = EpisodeInfo.model_validate(entries[0]["value"])
        events = [Event.model_validate(entry["value"]) for entry in entries if entry["kind"] == "event"]
        anchors = [Anchor.model_validate(entry["value"]) for entry in entries if entry["kind"] == "anchor"]
    except (ValueError, KeyError) as error:
        raise EpisodeFormatError(f"{path} is not a journal of this version: {error}") from error
    return info.model_copy(update={"events": (*info.events, *events), "anchors": (*info.anchors, *anchors)})


def _parse(path: Path, number: int, line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        _log.warning("%s: line %d is torn and was passed over", path, number + 1)
        return None
    return entry if isinstance(entry, dict) else None
