"""The metadata of one episode, as it stands in the root group's attributes."""

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from recorder.segments import CollectionMode, ControlSource, EpisodeState, Outcome
from recorder.streams import AnyStreamSpec

SCHEMA_VERSION = 1
_STARTED = re.compile(r"^(\d{8}T\d{6})Z-")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Anchor(_Model):
    """One simultaneous reading of the monotonic clock and UTC [ns]."""

    monotonic_ns: int
    utc_ns: int
    uncertainty_ns: int


class Event(_Model):
    """Something that happened at a time: a request, an edge, a fault, a clamp run, a note."""

    time_ns: int
    """Monotonic clock [ns]."""
    kind: str
    """For example takeover_request, control_source, fault, note."""
    detail: dict[str, Any] = Field(default_factory=dict)


class Segment(_Model):
    """A maximal run of one control source, rows [start_row, end_row) of the control stream."""

    index: int
    source: ControlSource
    start_row: int
    end_row: int
    start_ns: int
    end_ns: int
    """Stamp of the first row after the segment, or the last row's stamp for the last segment [ns]."""
    intervention: int = -1
    """Index of the intervention that it belongs to; -1 outside."""


class Intervention(_Model):
    """One operator interval inside a policy episode. Field meanings: all times on the monotonic clock [ns]."""

    intervention_id: str
    index: int
    trigger: str = "operator"
    reason: str = "other"
    policy_id: str = ""
    operator_id: str = ""
    request_ns: int
    """The operator's edge as received."""
    policy_off_ns: int
    """The first tick that no longer sent the policy's command."""
    operator_first_ns: int | None = None
    """First operator command; None if cancelled."""
    release_ns: int | None = None
    """The release edge as received."""
    policy_on_ns: int | None = None
    """First policy command after it; None if the episode ended first."""
    takeover_row: int
    """First row that is not the policy's."""
    operator_start_row: int
    operator_end_row: int
    """Half open; equal to the start if cancelled."""
    handover_mode: str = "none"
    handover_jump: float | None = None
    """Largest joint difference between the last executed and the first operator command [rad]."""
    outcome: str = "unknown"
    """recovered, not_recovered, cancelled or unknown."""
    closed_by: str = "release"
    failure_entry: str = ""
    """Entry of the failure taxonomy that it answers; empty if nobody said."""
    phase_split_ns: int | None = None
    """Where recovery ends and correction begins; None if it is not split."""


class StaleRun(_Model):
    """Rows that a device delivered again with the stamp of the row before them."""

    row: int
    """First of them."""
    rows: int
    duration_s: float
    """From the arrival of the row that they repeat to the arrival of the last of them [s]."""


class StreamSummary(_Model):
    """What a stream came to, measured from its own stamps."""

    samples: int
    first_ns: int | None = None
    last_ns: int | None = None
    rate_hz: float | None = None
    """(samples - 1) / (last - first); None below two samples."""
    gaps: int = 0
    """Intervals longer than twice the expected period."""
    longest_gap_s: float = 0.0
    gap_rows: tuple[int, ...] = ()
    """Row after each gap, the first 1000 of them."""
    duplicates: int = 0
    """Rows with the stamp of the row before."""
    stale_runs: tuple[StaleRun, ...] = ()
    """Where duplicates stand together, the first 1000 runs."""
    jitter_s: float | None = None
    """95 of 100 intervals differ by no more from the median interval [s]; None below two intervals."""
    offset_s: float | None = None
    """Median of received minus time, the configured latency included [s]; None without a sample."""
    drift_s: float | None = None
    """By how much the offset grew from the first tenth of the stream to the last [s]; None below two seconds."""
    backwards: int = 0
    """Rows with a stamp before that of the row before."""
    drops: int = 0
    """Samples known to be lost before they reached the recorder."""
    bytes: int = 0
    """Payload handed to the writer."""
    checksums: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """CRC-32C of the rows in each chunk file, for every array of numbers."""
    lost: str = ""
    """What a recovery could not bring back, in words; empty if nothing."""
    warnings: tuple[str, ...] = ()
    """What was out of its limits, one sentence each; the events of kind `health` say when."""
    out_of_limits_s: dict[str, float] = Field(default_factory=dict)
    """How long in all, for each limit [s]."""
    sharpness: float | None = None
    """Sharpness of a camera's first seconds, which blur is judged against; None if it was never measured."""


class Label(_Model):
    """One thing that somebody said of a finished episode. Labels are only ever added; the last one of a field holds."""

    field: str
    """Attribute of the episode, or of the intervention, that it is about."""
    intervention: int | None = None
    """Index of the intervention; None for the episode."""
    old: JsonValue
    """What held before."""
    new: JsonValue
    author: str
    time_utc: AwareDatetime


class EpisodeInfo(_Model):
    """Everything about an episode that is not a stream's rows.

    On disk the attributes are as recorded and `labels` stands beside them; whoever reads an episode with this package
    gets the attributes as the labels left them.
    """

    schema_version: int = SCHEMA_VERSION
    id: str
    index: int
    state: EpisodeState
    task: str
    outcome: Outcome = Outcome.UNSET
    collection_mode: CollectionMode = CollectionMode.TELEOP_DEMO
    operator: str = ""
    policy_id: str = ""
    start_ns: int
    """Start of the episode's interval [start, stop), monotonic clock [ns]."""
    stop_ns: int | None = None
    boot_id: str = ""
    """The host's boot; monotonic stamps of two boots cannot be compared."""
    app_version: str = ""
    station: dict[str, Any] = Field(default_factory=dict)
    """The station file as read."""
    station_digest: str = ""
    """SHA-256 of the station's canonical JSON."""
    stream_specs: tuple[AnyStreamSpec, ...] = ()
    streams: dict[str, StreamSummary] = Field(default_factory=dict)
    anchors: tuple[Anchor, ...] = ()
    events: tuple[Event, ...] = ()
    segments: tuple[Segment, ...] = ()
    interventions: tuple[Intervention, ...] = ()
    notes: str = ""
    tags: tuple[str, ...] = ()
    failure_entry: str = ""
    """Entry of the failure taxonomy; empty if nobody said."""
    kept_ns: tuple[int, int] | None = None
    """The part [start, stop) that a trim keeps; None for all of it [ns]."""
    labels: tuple[Label, ...] = ()
    """What was said after the recording, oldest first."""

    @property
    def kept(self) -> tuple[int, int | None]:
        """The part [start, stop) to be used; the stop is None while it is recorded [ns]."""
        return self.kept_ns if self.kept_ns is not None else (self.start_ns, self.stop_ns)

    @property
    def duration_s(self) -> Annotated[float, "s"]:
        """Length of what is kept; 0 while it has no end [s]."""
        start, stop = self.kept
        return 0.0 if stop is None else (stop - start) / 1e9

    @property
    def recorded_s(self) -> Annotated[float, "s"]:
        """Length of the episode's interval, whatever is kept of it; 0 while it has no end [s]."""
        return 0.0 if self.stop_ns is None else (self.stop_ns - self.start_ns) / 1e9

    @property
    def started_utc(self) -> datetime | None:
        """When it began, to the second, from its id; None if its id is not one that this application gives."""
        match = _STARTED.match(self.id)
        return None if match is None else datetime.strptime(f"{match[1]}+0000", "%Y%m%dT%H%M%S%z")

    def seconds(self, time_ns: int) -> float:
        """Convert a stamp to seconds from the start of the episode [s]."""
        return (time_ns - self.start_ns) / 1e9
