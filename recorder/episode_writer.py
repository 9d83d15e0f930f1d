"""Begins an episode, keeps its journal, and ends it in one step."""

import hashlib
import json
import logging
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from recorder import committer, layout, root
from recorder.episode import Anchor, EpisodeInfo, Event, StreamSummary
from recorder.errors import EpisodeBusyError, EpisodeNotFoundError, RecorderError
from recorder.journal import Journal, fold, is_held
from recorder.reader import NumericStream, open_streams
from recorder.repair import repair_missing_summaries
from recorder.segments import CollectionMode, EpisodeState, Outcome
from recorder.streams import AnyStreamSpec, StreamRole

_log = logging.getLogger(__name__)


class NewEpisode(BaseModel):
    """What is known of an episode before its first sample."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start_ns: int
    """Start of the episode's interval, monotonic clock [ns]."""
    utc_ns: int
    """The same instant in UTC, for the episode's id [ns]."""
    task: str
    collection_mode: CollectionMode = CollectionMode.TELEOP_DEMO
    operator: str = ""
    policy_id: str = ""
    app_version: str = ""
    station: dict[str, Any] = Field(default_factory=dict)
    """The station file as read."""
    stream_specs: tuple[AnyStreamSpec, ...] = ()
    """Every stream that will be opened, in this or any other process."""
    anchors: tuple[Anchor, ...] = ()
    notes: str = ""


class EpisodeWriter:
    """An episode while it is recorded. Its streams are opened with `recorder.writer.open_stream(path, spec)`."""

    def __init__(self, path: Path, journal: Journal, info: EpisodeInfo) -> None:
        self.path = path
        self.id = info.id
        self.index = info.index
        self._journal = journal
        committer.shared.add(journal)

    @classmethod
    def create(cls, collection: Path, info: NewEpisode) -> "EpisodeWriter":
        """Begin the next episode of a collection; the folder is made if it does not exist.

        Raises:
            RecorderError: Two streams have the same name.
        """
        names = [spec.name for spec in info.stream_specs]
        if len(set(names)) != len(names):
            raise RecorderError(f"stream names repeat: {', '.join(sorted(names))}")
        collection.mkdir(parents=True, exist_ok=True)
        with layout.locked_folder(collection):
            described = _describe(info, layout.next_index(collection))
            path = collection / (layout.episode_name(described.index, described.id) + layout.GROUP_SUFFIX)
            journal = Journal.create(layout.journal_path(path), described)
            path.mkdir()
        root.write_info(path, described)
        return cls(path, journal, described)

    def event(self, event: Event) -> None:
        """Record that something happened; once this returns it survives the death of the process."""
        self._journal.event(event)

    def anchor(self, anchor: Anchor) -> None:
        """Record one more simultaneous reading of the monotonic clock and UTC."""
        self._journal.anchor(anchor)

    def finish(
        self,
        stop_ns: int,
        streams: Mapping[str, StreamSummary],
        outcome: Outcome = Outcome.UNSET,
        *,
        notes: str | None = None,
    ) -> EpisodeInfo:
        """End the episode: derive its segments and interventions, and put everything in place in one step.

        Args:
            stop_ns: End of its interval, monotonic clock [ns].
            streams: What `close` of each stream gave. A declared stream that is not among them lost its writer: it is
                repaired from what is on disk, and its summary says so.
            outcome: How the attempt ended.
            notes: Replaces the notes given at the start; None keeps them.

        Raises:
            EpisodeBusyError: A stream that is not among `streams` is still being written.
        """
        info = fold(self._journal.path)
        summaries = repair_missing_summaries(self.path, info, streams)
        update: dict[str, Any] = {"state": EpisodeState.COMPLETE, "stop_ns": stop_ns, "outcome": outcome}
        update |= {"streams": summaries} | ({} if notes is None else {"notes": notes})
        finished = with_segments(self.path, info.model_copy(update=update))
        root.write_info(self.path, finished)
        self._journal.path.unlink()
        self._release()
        return finished

    def discard(self) -> Path:
        """End the episode without keeping it and give its path in the trash; its streams must be closed."""
        self._release()
        return discard(self.path)

    def _release(self) -> None:
        committer.shared.remove(self._journal)
        self._journal.close()


def _describe(info: NewEpisode, index: int) -> EpisodeInfo:
    started = datetime.fromtimestamp(info.utc_ns // 1_000_000_000, UTC)
    canonical = json.dumps(info.station, sort_keys=True, separators=(",", ":"), default=str)
    return EpisodeInfo(
        id=f"{started:%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}",
        index=index,
        state=EpisodeState.RECORDING,
        boot_id=layout.boot_id(),
        station_digest=hashlib.sha256(canonical.encode()).hexdigest(),
        **{name: getattr(info, name) for name in NewEpisode.model_fields if name != "utc_ns"},
    )


def with_segments(episode: Path, info: EpisodeInfo) -> EpisodeInfo:
    """Add the segments and interventions that the control stream shows; none if there is no control stream."""
    control = [
        stream
        for stream in open_streams(episode, info)
        if isinstance(stream, NumericStream) and stream.spec.role is StreamRole.CONTROL
    ]
    if not control:
        return info
    from recorder.derivation import derive_from_stream

    segments, interventions = derive_from_stream(control[0], info)
    return info.model_copy(update={"segments": segments, "interventions": interventions})


def discard(path: Path) -> Path:
    """Move an episode to its collection's trash and give its new path.

    Raises:
        EpisodeNotFoundError: There is no episode at that path.
        EpisodeBusyError: It is being recorded.
    """
    return _move(path)


def restore(path: Path) -> Path:
    """Move an episode out of the trash, back to its collection, and give its new path.

    Raises:
        EpisodeNotFoundError: There is no such episode in a trash.
    """
    if path.parent.name != layout.TRASH:
        raise EpisodeNotFoundError(f"{path} is not in the trash of a collection")
    return _move(path)


def _move(path: Path) -> Path:
    if not layout.collection_of(path).is_dir():
        raise EpisodeNotFoundError(f"there is no episode at {path}")
    with layout.locked_folder(layout.collection_of(path)):
        return _move_held(path)


def _move_held(path: Path) -> Path:
    journal = layout.journal_path(path)
    if not path.is_dir():
        raise EpisodeNotFoundError(f"there is no episode at {path}")
    if is_held(journal):
        raise EpisodeBusyError(f"{path} is being recorded; stop it first")
    target = layout.counterpart(path)
    target.parent.mkdir(exist_ok=True)
    path.rename(target)
    # The group goes first: a journal left alone by a kill is put beside its group by `recover`.
    if journal.is_file():
        journal.rename(layout.journal_path(target))
    return target
