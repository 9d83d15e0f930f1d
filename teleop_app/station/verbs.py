"""What a client may ask of a station, as one table: verb -> what it does. Console, CLI and others share it.

Requests to the control loop are only stamped and queued here; the loop decides at its next tick. Everything that
touches files runs in the session's turn.
"""

from collections.abc import Callable
from typing import Any

from drivers import clock
from recorder.collection import list_episodes
from recorder.episode import EpisodeInfo
from recorder.errors import EpisodeNotFoundError
from recorder.labelling import label
from recorder.labels import Change
from recorder.segments import CollectionMode, Outcome
from teleop_app import __version__
from teleop_app.station import health_gate
from teleop_app.station.arbiter import Edge, Phase
from teleop_app.station.errors import RequestRefusedError
from teleop_app.station.messages import EpisodeRow, Hello, Verb
from teleop_app.station.station import Station

REASONS = (
    "imminent_failure",
    "already_failed",
    "hesitation",
    "wrong_target",
    "unsafe",
    "off_task",
    "stuck",
    "quality",
    "teaching",
)
"""Reasons of a takeover in the order of the keys 1 to 9."""

EDGES: dict[Verb, Edge] = {
    Verb.TAKEOVER: Edge.TAKEOVER,
    Verb.RELEASE: Edge.RELEASE,
    Verb.PAUSE: Edge.PAUSE,
    Verb.RESUME: Edge.START_POLICY,
    Verb.STOP: Edge.STOP,
    Verb.REARM: Edge.REARM,
}
"""Verbs that are requests to the control loop."""

NEEDS_OPEN = (Verb.STOP_EPISODE, Verb.PAUSE_RECORDING, Verb.RESUME_RECORDING)
"""Verbs for the open episode only."""
LABELS = (Verb.SUCCESS, Verb.FAILURE, Verb.REASON, Verb.NOTE)
"""Verbs that say something of the open episode, or else of the last one."""
Answer = tuple[str, dict[str, Any]]


class Verbs:
    """Carries out one verb at a time; raises RequestRefusedError with the reason."""

    def __init__(self, station: Station, feed_endpoint: str, shut_down: Callable[[], None]) -> None:
        """Serve `station`; `shut_down` ends the process that runs it."""
        self._station, self._feed_endpoint, self._shut_down = station, feed_endpoint, shut_down
        self._table: dict[Verb, Callable[[dict[str, Any], str], Answer]] = {
            Verb.HELLO: self._hello,
            Verb.RECORD: self._record,
            Verb.STOP_EPISODE: self._stop_episode,
            Verb.DISCARD: self._discard,
            Verb.UNDO_DISCARD: self._undo_discard,
            Verb.SUCCESS: lambda _args, _client: self._mark(Outcome.SUCCESS),
            Verb.FAILURE: lambda _args, _client: self._mark(Outcome.FAILURE),
            Verb.RERECORD: self._rerecord,
            Verb.PAUSE_RECORDING: lambda _args, _client: self._pause_recording(),
            Verb.RESUME_RECORDING: lambda _args, _client: self._resume_recording(),
            Verb.NOTE: self._note,
            Verb.REASON: self._reason,
            Verb.SET_TASK: self._set_task,
            Verb.EPISODES: self._episodes,
            Verb.SHUTDOWN: self._shutdown,
        }

    def run(self, verb: Verb, args: dict[str, Any], client: str) -> Answer:
        """Carry out `verb`; return a sentence and data."""
        why = self.denied().get(verb)
        if why is not None:
            raise RequestRefusedError(why)
        if verb in EDGES:
            if self._station.loop.requests.put(EDGES[verb], client, **args) is None:
                raise RequestRefusedError("too many requests are waiting for the control loop")
            return "", {}
        return self._table[verb](args, client)

    def denied(self) -> dict[Verb, str]:
        """Verbs that would be refused now, and why."""
        return {**self._denied_control(), **self._denied_recording()}

    def _denied_control(self) -> dict[Verb, str]:
        station, arbiter = self._station, self._station.loop.arbiter
        why = {
            verb: f"Not possible while the arm is in {arbiter.phase.value}."
            for verb, edge in EDGES.items()
            if not arbiter.allows(edge) and not (edge is Edge.TAKEOVER and arbiter.phase is Phase.READY)
        }
        if station.config.mode == "passive":
            own = "This station only records; the robot is stopped at its own controller."
            return why | dict.fromkeys((Verb.PAUSE, Verb.RESUME, Verb.STOP, Verb.REARM), own)
        if arbiter.allows(Edge.TAKEOVER) and station.loop.operator is None:
            why[Verb.TAKEOVER] = "This station has no operator's device."
        if arbiter.allows(Edge.START_POLICY) and station.policy is None:
            why[Verb.RESUME] = "This station has no policy."
        if station.loop.faults:
            why.pop(Verb.REARM, None)
            why |= dict.fromkeys((Verb.TAKEOVER, Verb.RESUME), "A fault is latched; re-arm first.")
        return why

    def _denied_recording(self) -> dict[Verb, str]:
        session = self._station.session
        why: dict[Verb, str] = {}
        if session.recording:
            why[Verb.RECORD] = "An episode is being recorded."
            verb = Verb.PAUSE_RECORDING if session.paused else Verb.RESUME_RECORDING
            why[verb] = "Recording is paused already." if session.paused else "Recording is not paused."
        else:
            why |= dict.fromkeys(NEEDS_OPEN, "No episode is being recorded.")
            if not session.trash.listed:
                why[Verb.DISCARD] = "There is no episode to discard."
            if session.last is None:
                why |= dict.fromkeys((*LABELS, Verb.RERECORD), "This session has recorded no episode yet.")
        if refusal := health_gate.refusal(self._station.config.episodes.health_gate, self._station.streams):
            why = dict.fromkeys((Verb.RECORD, Verb.RERECORD), refusal) | why
        if not session.trash.trashed:
            why[Verb.UNDO_DISCARD] = "Nothing has been discarded."
        return why

    def _hello(self, _args: dict[str, Any], _client: str) -> Answer:
        hello = Hello(
            station=self._station.config.station,
            app_version=__version__,
            feed_endpoint=self._feed_endpoint,
            cameras=tuple(self._station.hardware.cameras),
            reasons=REASONS,
        )
        return "", hello.model_dump(mode="json")

    def _record(self, args: dict[str, Any], client: str) -> Answer:
        station = self._station
        mode = CollectionMode(args.get("collection_mode") or self._usual_mode())
        if station.config.mode == "active":
            station.begin_attempt(station.config.episodes.seed + station.session.kept, mode)
        writer = station.session.start(mode, args.get("task"))
        if station.config.mode == "active":
            station.set_in_motion(mode, client)
        return f"Recording episode {writer.index}.", {"index": writer.index, "id": writer.id}

    def _usual_mode(self) -> CollectionMode:
        if self._station.config.mode == "passive":
            return CollectionMode.PASSIVE
        return CollectionMode.INTERVENTION if self._station.policy is not None else CollectionMode.TELEOP_DEMO

    def _stop_episode(self, args: dict[str, Any], client: str) -> Answer:
        outcome = Outcome(args["outcome"]) if args.get("outcome") else None
        info = self._station.session.stop(outcome)
        self._hold(client)
        return self._station.session.message, {"index": info.index, "id": info.id}

    def _rerecord(self, args: dict[str, Any], client: str) -> Answer:
        session = self._station.session
        mode, task = session.mode, session.task
        session.discard()
        self._hold(client)
        return self._record({"collection_mode": mode.value, "task": task, **args}, client)

    def _pause_recording(self) -> Answer:
        self._station.session.pause()
        return "Recording is paused; the episode goes on after it.", {}

    def _resume_recording(self) -> Answer:
        self._station.session.resume()
        return "Recording goes on.", {}

    def _note(self, args: dict[str, Any], client: str) -> Answer:
        text = str(args.get("text", "")).strip()
        if not text:
            raise RequestRefusedError("a note needs a text")
        self._say("note", {"text": text, "asked_by": client}, Change("notes", text, how="add"))
        return "Noted.", {}

    def _say(self, kind: str, detail: dict[str, Any], change: Change) -> None:
        """Say something of the open episode as an event, or else of the last one as a label."""
        session = self._station.session
        if session.recording:
            session.note_now(kind, detail)
        elif session.last_path is not None:
            author = self._station.config.operator_id
            label(session.last_path, [change], author=author, utc_ns=clock.read_anchor().utc_ns)

    def _discard(self, args: dict[str, Any], client: str) -> Answer:
        self._station.session.discard(args.get("id"))
        if not args.get("id"):
            self._hold(client)
        return self._station.session.message, {}

    def _undo_discard(self, args: dict[str, Any], _client: str) -> Answer:
        self._station.session.undo_discard(args.get("id"))
        return self._station.session.message, {}

    def _mark(self, outcome: Outcome) -> Answer:
        session = self._station.session
        if session.recording:
            session.mark(outcome)
            return f"This episode is a {outcome.value}.", {}
        self._say("outcome", {}, Change("outcome", outcome.value))
        return f"The last episode is a {outcome.value}.", {}

    def _reason(self, args: dict[str, Any], client: str) -> Answer:
        reason = str(args.get("reason", ""))
        if reason not in REASONS:
            raise RequestRefusedError(f"{reason!r} is no reason; reasons are {', '.join(REASONS)}")
        last = self._station.session.last
        count = len(last.interventions) if last is not None else 0
        if not self._station.session.recording and not count:
            raise RequestRefusedError("the last episode has no intervention")
        self._say("reason", {"reason": reason, "asked_by": client}, Change("reason", reason, intervention=count - 1))
        return f"Reason: {reason.replace('_', ' ')}.", {}

    def _set_task(self, args: dict[str, Any], _client: str) -> Answer:
        self._station.session.task = str(args.get("task", ""))
        return "", {}

    def _episodes(self, _args: dict[str, Any], _client: str) -> Answer:
        try:
            episodes = list_episodes(self._station.session.collection)
        except EpisodeNotFoundError:
            episodes = []
        return "", {"episodes": [_row(info).model_dump(mode="json") for info in episodes]}

    def _shutdown(self, _args: dict[str, Any], _client: str) -> Answer:
        self._shut_down()
        return "The station is shutting down; the arm holds.", {}

    def _hold(self, client: str) -> None:
        """An episode is over: nobody commands until the next one."""
        if self._station.loop.arbiter.allows(Edge.PAUSE):
            self._station.loop.requests.put(Edge.PAUSE, client)


def _row(info: EpisodeInfo) -> EpisodeRow:
    return EpisodeRow(
        index=info.index,
        id=info.id,
        state=info.state.value,
        task=info.task,
        outcome=info.outcome.value,
        collection_mode=info.collection_mode.value,
        duration_s=info.duration_s,
        interventions=len(info.interventions),
        faults=sum(event.kind == "fault" for event in info.events),
    )
