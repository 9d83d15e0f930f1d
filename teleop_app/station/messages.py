"""What a station and its clients say to each other: typed messages as JSON over two ZeroMQ sockets.

- requests: a ROUTER socket; the client (DEALER) sends one `Request` and gets one `Reply` with the same `id`.
- feed: a PUB socket; multipart messages whose first frame is the topic:
  `status` + `StationStatus` JSON, about 20 a second;
  `preview/<camera>` + `PreviewHeader` JSON + the frame as one JPEG, at most 30 a second.
"""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_REQUEST_PORT = 47801
STATUS_TOPIC = b"status"
PREVIEW_PREFIX = b"preview/"


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Verb(StrEnum):
    """What a client may ask."""

    HELLO = "hello"
    """Reply data: `Hello`."""
    RECORD = "record"
    """Start an episode; args: task (optional), collection_mode (optional)."""
    STOP_EPISODE = "stop_episode"
    """Close the open episode and keep it; args: outcome (optional)."""
    DISCARD = "discard"
    """Close the open episode, or take the last closed one, and move it to the trash; args: id (optional, a closed
    episode of the list)."""
    UNDO_DISCARD = "undo_discard"
    """Bring the last discarded episode back; args: id (optional)."""
    RERECORD = "rerecord"
    """Discard the open episode, or else the last one, and start again with the same task and mode."""
    PAUSE_RECORDING = "pause_recording"
    """Record nothing for a while: an explicit gap."""
    RESUME_RECORDING = "resume_recording"
    NOTE = "note"
    """Add a note to the open episode; args: text."""
    SUCCESS = "success"
    """Mark the open or the last episode."""
    FAILURE = "failure"
    TAKEOVER = "takeover"
    RELEASE = "release"
    PAUSE = "pause"
    """Hold the arm."""
    RESUME = "resume"
    STOP = "stop"
    """STOP (software): hold at once and latch."""
    REARM = "rearm"
    """Leave a latched stop or fault; the arm keeps holding."""
    REASON = "reason"
    """Reason of the current or last intervention; args: reason."""
    SET_TASK = "set_task"
    """args: task."""
    EPISODES = "episodes"
    """Reply data: {"episodes": [EpisodeRow, ...]}."""
    SHUTDOWN = "shutdown"


class Request(_Message):
    """One request of a client."""

    id: int
    verb: Verb
    args: dict[str, Any] = Field(default_factory=dict)
    client: str = ""
    """Who asks, for the event log."""


class Reply(_Message):
    """The answer to one request; `message` is a sentence for the operator."""

    id: int
    ok: bool
    message: str = ""
    data: dict[str, Any] = Field(default_factory=dict)


class StreamStatus(_Message):
    """Live health of one stream."""

    name: str
    role: str
    """A value of recorder.streams.StreamRole."""
    expected_hz: float
    rate_hz: float
    """Over the last second."""
    age_s: float
    """Since the newest sample; infinite values are sent as -1."""
    drops: int = 0
    fault: str = ""
    """A sentence, empty when healthy: why it cannot be read or recorded, or the first of `problems`."""
    problems: tuple[str, ...] = ()
    """Everything that is out of its limits, one sentence each."""
    jitter_ms: float | None = None
    """Over the last seconds, 95 of 100 intervals differ by no more from the median interval."""
    offset_ms: float | None = None
    """Over the last seconds, median of received minus time."""


class JointStatus(_Message):
    """Newest joint values for plots, in one order; None where there is none."""

    names: tuple[str, ...] = ()
    state: tuple[float, ...] | None = None
    sent: tuple[float, ...] | None = None
    policy: tuple[float, ...] | None = None
    operator: tuple[float, ...] | None = None


class HandoverStatus(_Message):
    """A handover in progress."""

    progress: float
    """0 to 1."""
    errors: tuple[float, ...] = ()
    """Operator's device minus follower, joint by joint [rad]."""
    tolerance: float = 0.05
    """Largest error of a joint that counts as aligned [rad]."""
    ready: bool = False


class LoopStatus(_Message):
    """The control loop's punctuality over the last seconds."""

    rate_hz: float
    lateness_p99_ms: float
    missed: int
    """Ticks missed since start."""
    clamps: int
    """Commands altered by limits since start."""
    realtime: bool = False
    """Whether the operating system lets the loop run before everything else."""


class StationStatus(_Message):
    """Everything a console shows, as of `time_ns` of the station's monotonic clock."""

    time_ns: int
    station: str
    mode: str
    """active or passive."""
    control_source: str
    """A name of recorder.segments.ControlSource in lower case."""
    phase: str
    """The arbiter's state in lower case: a value of teleop_app.station.arbiter.Phase."""
    advice: str = ""
    """What the operator can do next, one sentence without key names."""
    allowed: tuple[Verb, ...] = ()
    """Verbs that would be accepted now."""
    denied: dict[str, str] = Field(default_factory=dict)
    """Verb -> why it would be refused now."""
    recording: bool = False
    episode_index: int | None = None
    recording_s: float = 0.0
    task: str = ""
    collection: str = ""
    episodes_done: int = 0
    episodes_wanted: int = 0
    last_episode: str = ""
    """What became of the last episode, one sentence."""
    disk_free_s: float | None = None
    """Recording time left at the measured rate [s]."""
    streams: tuple[StreamStatus, ...] = ()
    joints: JointStatus = JointStatus()
    handover: HandoverStatus | None = None
    tactile: dict[str, list[list[float]]] = Field(default_factory=dict)
    """Pad -> rows of forces [N]."""
    policy_latency_ms: float | None = None
    loop: LoopStatus = LoopStatus(rate_hz=0, lateness_p99_ms=0, missed=0, clamps=0)
    faults: tuple[str, ...] = ()
    """Latched faults: what happened, what the arm does now, what to do."""
    operator: str = ""


class PreviewHeader(_Message):
    """Accompanies one preview frame."""

    camera: str
    stamp_ns: int
    sequence: int
    height: int
    width: int


class Hello(_Message):
    """What a client learns first."""

    station: str
    app_version: str
    feed_endpoint: str
    """Where the PUB socket is."""
    cameras: tuple[str, ...]
    reasons: tuple[str, ...] = ()


class EpisodeRow(_Message):
    """One line of the episode list."""

    index: int
    id: str
    state: str
    task: str
    outcome: str
    collection_mode: str
    duration_s: float
    interventions: int
    faults: int = 0
    discarded: bool = False
