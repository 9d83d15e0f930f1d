"""What a verification says."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from recorder.episode import EpisodeInfo, StreamSummary
from recorder.segments import EpisodeState
from recorder.streams import ImageStreamSpec, NumericStreamSpec


class Severity(StrEnum):
    """Errors make an episode unfit; warnings are facts about it that somebody should know."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One thing that was found, in one sentence."""

    severity: Severity
    sentence: str
    stream: str = ""
    array: str = ""
    rows: tuple[int, int] | None = None
    """Half open; None if no rows can be named."""


def rows_text(rows: tuple[int, int]) -> str:
    """Half-open rows in words."""
    start, stop = rows
    return f"row {start}" if stop == start + 1 else f"rows {start} to {stop - 1}"


def runs(rows: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending rows as half-open runs, so that a lost hour is one finding."""
    found: list[tuple[int, int]] = []
    for row in rows:
        if found and found[-1][1] == row:
            found[-1] = (found[-1][0], row + 1)
        else:
            found.append((row, row + 1))
    return found


@dataclass(frozen=True)
class Subject:
    """One stream under verification; words its findings."""

    path: Path
    spec: NumericStreamSpec | ImageStreamSpec
    info: EpisodeInfo

    @property
    def finished(self) -> bool:
        """Whether the episode claims to be whole."""
        return self.info.state in (EpisodeState.COMPLETE, EpisodeState.RECOVERED)

    @property
    def summary(self) -> StreamSummary | None:
        """What the episode says of the stream; None while it is recorded."""
        return self.info.streams.get(self.spec.name)

    def error(self, sentence: str, array: str = "", rows: tuple[int, int] | None = None) -> Finding:
        """Something that makes the stream unfit."""
        return self._finding(Severity.ERROR, sentence, array, rows)

    def warning(self, sentence: str, array: str = "", rows: tuple[int, int] | None = None) -> Finding:
        """Something to know of the stream."""
        return self._finding(Severity.WARNING, sentence, array, rows)

    def _finding(self, severity: Severity, sentence: str, array: str, rows: tuple[int, int] | None) -> Finding:
        place = f"stream {self.spec.name}" + (f", array {array}" if array else "")
        where = f"{place}, {rows_text(rows)}" if rows else place
        return Finding(severity, f"{where}: {sentence}", self.spec.name, array, rows)
