"""The metadata of one episode, as it stands in the root group's attributes."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from recorder.segments import CollectionMode, ControlSource, EpisodeState, Outcome
from recorder.streams import AnyStreamSpec

SCHEMA_VERSION = 1


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
    closed_by: str = "release"


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


class EpisodeInfo(_Model):
    """Everything about an episode that is not a stream's rows."""

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

    @property
    def duration_s(self) -> Annotated[float, "s"]:
        """Length of the episode's interval; 0 while it has no end [s]."""
        return 0.0 if self.stop_ns is None else (self.stop_ns - self.start_ns) / 1e9
