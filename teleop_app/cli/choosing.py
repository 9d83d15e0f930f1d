"""Which episodes of a collection a command is about."""

from dataclasses import dataclass
from datetime import datetime

from recorder.episode import EpisodeInfo
from recorder.segments import CollectionMode, EpisodeState, Outcome


@dataclass(frozen=True)
class Wanted:
    """What an episode must be; what is empty or None is not asked for."""

    task: str = ""
    """Part of the task's text, in any case of letters."""
    outcomes: tuple[Outcome, ...] = ()
    operator: str = ""
    modes: tuple[CollectionMode, ...] = ()
    states: tuple[EpisodeState, ...] = ()
    interventions: bool | None = None
    faults: bool | None = None
    since: datetime | None = None
    """Begun at this time or later; local time."""
    until: datetime | None = None
    """Begun before this time; local time."""
    tags: tuple[str, ...] = ()
    """All of them."""

    def takes(self, info: EpisodeInfo) -> bool:
        """Tell whether an episode is all that is asked for."""
        return all(
            (
                self.task.casefold() in info.task.casefold(),
                not self.outcomes or info.outcome in self.outcomes,
                not self.operator or info.operator == self.operator,
                not self.modes or info.collection_mode in self.modes,
                not self.states or info.state in self.states,
                self.interventions is None or bool(info.interventions) == self.interventions,
                self.faults is None or (faults(info) > 0) == self.faults,
                set(self.tags) <= set(info.tags),
                self._begun_in_time(info.started_utc),
            )
        )

    def _begun_in_time(self, begun: datetime | None) -> bool:
        if self.since is None and self.until is None:
            return True
        if begun is None:
            return False
        after = self.since is None or begun >= self.since.astimezone()
        return after and (self.until is None or begun < self.until.astimezone())


def faults(info: EpisodeInfo) -> int:
    """Count the faults that happened in an episode."""
    return sum(event.kind == "fault" for event in info.events)
