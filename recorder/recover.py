"""Makes an interrupted episode whole: lengths and indexes from what is on disk, the journal into the metadata."""

from dataclasses import dataclass
from pathlib import Path

from recorder import journal, layout, root
from recorder.episode import EpisodeInfo, StreamSummary
from recorder.episode_writer import with_segments
from recorder.errors import EpisodeNotFoundError
from recorder.labels import effective
from recorder.repair import repair_missing_summaries
from recorder.segments import EpisodeState


@dataclass(frozen=True)
class RecoveryReport:
    """What a recovery found and did."""

    path: Path
    repaired: bool
    """False if there was nothing to do."""
    info: EpisodeInfo
    """The episode as it is now."""

    @property
    def lost(self) -> dict[str, str]:
        """What could not be brought back, in words, for each stream that lost something."""
        return {name: summary.lost for name, summary in self.info.streams.items() if summary.lost}


def recover(path: Path | str) -> RecoveryReport:
    """Repair the episode at `path` if its recording was interrupted; repeating it changes nothing.

    The order of the steps makes it safe to be killed: streams first, each repeatable, then the description in one
    rename, then the journal goes.

    Raises:
        EpisodeNotFoundError: There is no episode at that path.
        EpisodeBusyError: A live process is recording the episode.
        EpisodeFormatError: Neither a journal nor the metadata says what the episode was.
    """
    episode = _rejoin(Path(path))
    journal_path = layout.journal_path(episode)
    if not journal_path.is_file():
        return _recover_without_journal(episode)
    held = journal.Journal.take_over(journal_path)
    try:
        if not layout.metadata_path(episode).is_file():
            _begin_again(episode)
        report = _recover(episode, _described(episode, journal_path))
        journal_path.unlink()
    finally:
        held.close()
    return report


def _rejoin(episode: Path) -> Path:
    """Put a journal beside its group where a kill came in the middle of discarding or restoring; give the group."""
    other = layout.counterpart(episode)
    if not episode.is_dir() and other.is_dir():
        episode, other = other, episode
    stray, place = layout.journal_path(other), layout.journal_path(episode)
    if episode.is_dir() and not other.is_dir() and stray.is_file() and not place.is_file():
        stray.rename(place)
    return episode


def _recover_without_journal(episode: Path) -> RecoveryReport:
    if not episode.is_dir():
        raise EpisodeNotFoundError(f"there is no episode at {episode}")
    return _recover(episode, root.stored_info(episode))


def _described(episode: Path, journal_path: Path) -> EpisodeInfo:
    stored = root.stored_info(episode)
    return stored if stored.state in root.FINISHED else journal.fold(journal_path)


def _begin_again(episode: Path) -> None:
    """A kill came between the journal and the group."""
    episode.mkdir(exist_ok=True)
    root.write_info(episode, journal.fold(layout.journal_path(episode)))


def _recover(episode: Path, info: EpisodeInfo) -> RecoveryReport:
    if info.state in root.FINISHED:
        return RecoveryReport(episode, repaired=False, info=effective(info))
    summaries = repair_missing_summaries(episode, info, {})
    update = {"state": EpisodeState.RECOVERED, "streams": summaries, "stop_ns": _stop_ns(info, summaries)}
    recovered = with_segments(episode, info.model_copy(update=update))
    root.write_info(episode, recovered)
    return RecoveryReport(episode, repaired=True, info=recovered)


def _stop_ns(info: EpisodeInfo, summaries: dict[str, StreamSummary]) -> int:
    """Just after the last thing that is known to have happened [ns]."""
    stamps = [summary.last_ns for summary in summaries.values() if summary.last_ns is not None]
    return max([info.start_ns, *stamps, *(event.time_ns for event in info.events)]) + 1
