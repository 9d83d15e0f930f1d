"""What every exporter does: plan, write shard, merge, verify; and the plan that passes between these steps.

A plan is plain data. It is made once, travels to any number of workers, and decides everything that the bytes depend
on: which rows of which episode, at which place in the output. Workers share nothing, so a shard can be written
anywhere, in any order, and again after a crash.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with (shards written, shards in all)."""


class Frozen(BaseModel):
    """A frozen, JSON-ready model without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LeftOut(Frozen):
    """An episode that did not go in, and why."""

    episode: str
    """Identity of the episode, or its folder's name if that cannot be read."""
    reason: str


class Shard(Frozen):
    """A run of rows that one worker writes: an episode, or one whole piece of it where it was split at gaps."""

    index: int
    """Number of the episode in the output."""
    path: str
    """The episode's folder."""
    episode_id: str
    start: int
    """First row on the episode's clock."""
    stop: int
    """One past the last row."""
    first_index: int
    """Number in the output of the shard's first row."""
    task: str
    task_index: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


class Plan(Frozen):
    """Everything that an export's bytes depend on."""

    format: str
    """Name and version of what is written."""
    options: dict[str, Any]
    features: dict[str, dict[str, Any]]
    """Column name -> its description in the terms of the format."""
    tasks: tuple[str, ...]
    shards: tuple[Shard, ...]
    sources: tuple[dict[str, Any], ...]
    """One entry for each episode that goes in: identity, window, and how each stream was aligned."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """What else the reader of the data should know, one sentence each."""

    @property
    def rows(self) -> int:
        """Rows in all."""
        return sum(shard.rows for shard in self.shards)

    def for_worker(self, shard: Shard) -> "Plan":
        """Give the plan with this one shard and nothing that its worker has no use for."""
        return self.model_copy(update={"shards": (shard,), "sources": (), "left_out": (), "notes": ()})


class ShardResult(Frozen):
    """What a worker reports: the facts that only the merge can put together."""

    index: int
    rows: int
    frames: int
    """Video frames encoded."""
    seconds: float
    """Time that the worker spent on it [s]."""
    facts: dict[str, Any]
    """JSON-ready; the same shard always gives the same facts."""


class ExportReport(Frozen):
    """What came of an export."""

    out: str
    format: str
    episodes: int
    """Episodes in the output."""
    rows: int
    frames: int
    """Video frames in the output."""
    bytes: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    resumed_shards: int
    """Shards that an interrupted run had already written."""
    workers: int
    seconds: float
    """From start to the rename [s]."""
    worker_seconds: float
    """Sum over the shards written in this run [s]."""
    rows_per_worker_second: float
    frames_per_worker_second: float


class Workers(Protocol):
    """Whatever does the work: processes of this machine, or of a cluster."""

    @property
    def count(self) -> int:
        """How many work at once."""

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[T, R]]:
        """Yield (item, function(item)) as each is done, in any order."""


class Exporter(Protocol):
    """One format. An exporter is frozen data and goes to the workers as it is."""

    @property
    def marker(self) -> str:
        """Path, relative to the output, of the file by which an output of this exporter is known."""

    def plan(self, episodes: Sequence[Path], workers: Workers) -> Plan:
        """Read the episodes' stamps and decide what goes where.

        Raises:
            ExportError: Nothing can be exported as asked.
        """

    def write_shard(self, plan: Plan, shard: Shard, folder: Path) -> ShardResult:
        """Write one shard below `folder`, over whatever an earlier attempt left; of `plan` what `for_worker` gives."""

    def merge(self, plan: Plan, results: Sequence[ShardResult], folder: Path) -> None:
        """Write what belongs to all shards; `results` are in the order of the shards."""

    def verify(self, plan: Plan, folder: Path) -> tuple[str, ...]:
        """Open the output again and say what is wrong with it, one sentence each; nothing if it is whole."""
