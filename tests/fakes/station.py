"""A station without devices: the whole protocol of teleop_app.station.messages over real ZeroMQ, with a scripted state.

As a script it plays scenes for looking at the console::

    python tests/fakes/station.py --port 47801 --scene operator
"""

import argparse
import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator

import cv2
import numpy as np
import zmq

from teleop_app.station.messages import (
    DEFAULT_REQUEST_PORT,
    PREVIEW_PREFIX,
    STATUS_TOPIC,
    EpisodeRow,
    HandoverStatus,
    Hello,
    JointStatus,
    LoopStatus,
    PreviewHeader,
    Reply,
    Request,
    StationStatus,
    StreamStatus,
    Verb,
)

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
REASONS = ("wrong object", "missed grasp", "collision ahead", "dropped", "stuck", "too slow", "other")
CAMERAS = ("front", "wrist", "top")
BASE_STREAMS = (("arm", "state", 200.0), ("leader", "operator", 200.0), ("tactile", "tactile", 100.0))

SOURCE_OF_PHASE = {
    "hold": "hold",
    "resume": "handover",
    "policy": "policy",
    "freeze": "handover",
    "align": "handover",
    "ready": "handover",
    "engage": "handover",
    "operator": "operator",
    "settle": "handover",
    "stopped": "stopped",
}
ADVICE = {
    "hold": "The arm holds. Take over to command it, or resume the policy.",
    "resume": "The policy is getting control back.",
    "policy": "The policy commands the arm. Take over the moment it goes wrong.",
    "freeze": "The arm is frozen for your takeover.",
    "align": "Move your device to the arm's pose.",
    "ready": "Aligned. Take over again to engage, or release to give up.",
    "engage": "You are getting control.",
    "operator": "You command the arm. Release to hand it on.",
    "settle": "The arm holds before the policy goes on.",
    "stopped": "Stopped. Re-arm when it is safe; nothing moves until then.",
}
TAKEOVER_FROM = ("hold", "resume", "policy", "settle", "ready")
RELEASE_FROM = ("operator", "freeze", "align", "ready", "engage")
FAULT = (
    "The camera wrist has delivered nothing for 2.4 s. The arm holds and the episode goes on. "
    "Check the cable of wrist, then re-arm."
)


def denied_in(phase: str, *, recording: bool, episodes: int, discarded: bool) -> dict[Verb, str]:
    """Why each verb would be refused now."""
    rules = (
        (recording, (Verb.RECORD,), "An episode is already being recorded."),
        (not recording, (Verb.STOP_EPISODE,), "No episode is being recorded."),
        (not recording and not episodes, (Verb.SUCCESS, Verb.FAILURE, Verb.DISCARD), "There is no episode yet."),
        (not discarded, (Verb.UNDO_DISCARD,), "Nothing was discarded."),
        (phase not in TAKEOVER_FROM, (Verb.TAKEOVER,), f"Takeover is not possible during {phase}."),
        (phase not in RELEASE_FROM, (Verb.RELEASE,), "You do not command the arm."),
        (phase in ("hold", "stopped"), (Verb.PAUSE,), "The arm already holds."),
        (phase != "hold", (Verb.RESUME,), "The arm is not on hold."),
        (phase != "stopped", (Verb.REARM,), "Nothing is latched."),
        (phase == "stopped", (Verb.STOP,), "Already stopped."),
        (phase != "operator", (Verb.REASON,), "There was no intervention yet."),
    )
    return {verb: reason for holds, verbs, reason in rules if holds for verb in verbs}


class FakeStation:
    """A scripted station on the loopback; `scene` or `update` change what it says, `requests` is what it was asked."""

    def __init__(
        self,
        *,
        request_port: int = 0,
        feed_port: int = 0,
        cameras: tuple[str, ...] = CAMERAS,
        joints: tuple[str, ...] = JOINTS,
        camera_hz: float = 30.0,
        size: tuple[int, int] = (480, 640),
    ) -> None:
        self.cameras, self.joints, self.camera_hz, self.size = cameras, joints, camera_hz, size
        self._ports = (request_port, feed_port)
        self.endpoint = self.feed_endpoint = ""
        self.requests: list[Request] = []
        self.refuse: dict[Verb, str] = {}
        self.mute: set[Verb] = set()
        """Verbs that get no reply."""
        self.silent_cameras: set[str] = set()
        self.overrides: dict[str, object] = {}
        self.silent = threading.Event()
        self.phase, self.recording, self.discarded = "policy", False, False
        self.task = "put the yellow bottle in the bin"
        self.episodes: list[EpisodeRow] = []
        self._recording_since = 0.0
        self._phase_since = 0.0
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._frames: dict[str, list[bytes]] = {}

    # life ------------------------------------------------------------------------------------------------------

    def start(self) -> "FakeStation":
        self._stop.clear()
        self._ready.clear()
        self._frames = self._frames or {c: list(moving_frames(i, self.size)) for i, c in enumerate(self.cameras)}
        self._thread = threading.Thread(target=self._run, name="fake-station", daemon=True)
        self._thread.start()
        assert self._ready.wait(5), "the fake station did not start"
        return self

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5)
            assert not self._thread.is_alive()
            self._thread = None

    def __enter__(self) -> "FakeStation":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # script ----------------------------------------------------------------------------------------------------

    def enter(self, phase: str) -> str:
        self.phase, self._phase_since = phase, time.perf_counter()
        return ""

    def update(self, **fields: object) -> None:
        """Override fields of every StationStatus from now on."""
        self.overrides.update(fields)

    def verbs(self) -> list[Verb]:
        """What clients asked, without the console's own housekeeping."""
        return [r.verb for r in list(self.requests) if r.verb not in (Verb.HELLO, Verb.EPISODES)]

    def requests_of(self, verb: Verb) -> list[Request]:
        return [request for request in list(self.requests) if request.verb is verb]

    def scene(self, name: str) -> None:
        """Play one of SCENES."""
        SCENES[name](self)

    # the process -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        context = zmq.Context()
        router, feed = context.socket(zmq.ROUTER), context.socket(zmq.PUB)
        for sock in (router, feed):
            sock.setsockopt(zmq.LINGER, 0)
        feed.setsockopt(zmq.SNDHWM, 60)
        try:
            ports = [_bind(sock, port) for sock, port in zip((router, feed), self._ports, strict=True)]
            self._ports = (ports[0], ports[1])
            self.endpoint, self.feed_endpoint = (f"tcp://127.0.0.1:{port}" for port in ports)
            self._ready.set()
            self._serve(router, feed)
        finally:
            router.close()
            feed.close()
            context.term()

    def _serve(self, router: zmq.Socket[bytes], feed: zmq.Socket[bytes]) -> None:
        start = time.perf_counter()
        next_status, next_frame, sequence = start, [start + i * 0.011 for i in range(len(self.cameras))], 0
        while not self._stop.is_set():
            due = min(next_status, *next_frame) if next_frame else next_status
            router.poll(max(0, min(50, int((due - time.perf_counter()) * 1000))))
            if self.silent.is_set():
                self._stop.wait(0.01)
                next_status = time.perf_counter()
                next_frame = [next_status] * len(next_frame)
                continue
            self._answer_all(router)
            now = time.perf_counter()
            if now >= next_status:
                feed.send_multipart([STATUS_TOPIC, self.status().model_dump_json().encode()])
                next_status = max(next_status + 0.05, now)
            for index, camera in enumerate(self.cameras):
                if now >= next_frame[index]:
                    next_frame[index] = max(next_frame[index] + 1 / self.camera_hz, now - 0.1)
                    if camera not in self.silent_cameras:
                        sequence += 1
                        self._send_frame(feed, camera, sequence)

    def _send_frame(self, feed: zmq.Socket[bytes], camera: str, sequence: int) -> None:
        frames = self._frames[camera]
        height, width = self.size
        header = PreviewHeader(
            camera=camera, stamp_ns=time.monotonic_ns(), sequence=sequence, height=height, width=width
        )
        jpeg = frames[int(time.perf_counter() * self.camera_hz) % len(frames)]
        feed.send_multipart([PREVIEW_PREFIX + camera.encode(), header.model_dump_json().encode(), jpeg])

    def _answer_all(self, router: zmq.Socket[bytes]) -> None:
        while True:
            try:
                identity, *_, body = router.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            request = Request.model_validate_json(body)
            self.requests.append(request)
            if request.verb not in self.mute:
                router.send_multipart([identity, self._reply(request).model_dump_json().encode()])

    def _reply(self, request: Request) -> Reply:
        if request.verb is Verb.HELLO:
            hello = Hello(
                station="so101-lab",
                app_version="0.1.0",
                feed_endpoint=self.feed_endpoint,
                cameras=self.cameras,
                reasons=REASONS,
            )
            return Reply(id=request.id, ok=True, data=hello.model_dump(mode="json"))
        if request.verb is Verb.EPISODES:
            rows = [row.model_dump(mode="json") for row in self.episodes]
            return Reply(id=request.id, ok=True, data={"episodes": rows})
        if reason := self.refuse.get(request.verb) or self._denied().get(request.verb):
            return Reply(id=request.id, ok=False, message=reason)
        return Reply(id=request.id, ok=True, message=self._act(request))

    def _act(self, request: Request) -> str:
        acts: dict[Verb, Callable[[], str]] = {
            Verb.RECORD: self._begin_episode,
            Verb.STOP_EPISODE: lambda: self._close_episode("unset"),
            Verb.SUCCESS: lambda: self._mark("success"),
            Verb.FAILURE: lambda: self._mark("failure"),
            Verb.DISCARD: lambda: self._trash(discarded=True),
            Verb.UNDO_DISCARD: lambda: self._trash(discarded=False),
            Verb.TAKEOVER: lambda: self.enter("engage" if self.phase == "ready" else "align"),
            Verb.RELEASE: lambda: self.enter("settle"),
            Verb.PAUSE: lambda: self.enter("hold"),
            Verb.REARM: lambda: self.enter("hold"),
            Verb.RESUME: lambda: self.enter("resume"),
            Verb.STOP: lambda: self.enter("stopped"),
            Verb.SET_TASK: lambda: self._set_task(str(request.args["task"])),
        }
        return acts.get(request.verb, lambda: f"{request.verb.value}: done.")()

    def _set_task(self, task: str) -> str:
        self.task = task
        return f"The task is now: {task}."

    def _begin_episode(self) -> str:
        self.recording, self._recording_since = True, time.perf_counter()
        return f"Recording episode {len(self.episodes)}."

    def _mark(self, outcome: str) -> str:
        if self.recording:
            return self._close_episode(outcome)
        self.episodes[-1] = self.episodes[-1].model_copy(update={"outcome": outcome})
        return f"Episode {self.episodes[-1].index} is a {outcome}."

    def _trash(self, *, discarded: bool) -> str:
        if self.recording:
            self._close_episode("unset")
        self.discarded = discarded
        self.episodes[-1] = self.episodes[-1].model_copy(update={"discarded": discarded})
        return f"Episode {self.episodes[-1].index} is {'in the trash' if discarded else 'back'}."

    def _close_episode(self, outcome: str) -> str:
        self.recording = False
        self.episodes.append(episode(len(self.episodes), outcome, time.perf_counter() - self._recording_since))
        return f"Episode {len(self.episodes) - 1} is kept."

    def _phase_said(self) -> str:
        return str(self.overrides.get("phase", self.phase))

    def _denied(self) -> dict[Verb, str]:
        return denied_in(
            self._phase_said(), recording=self.recording, episodes=len(self.episodes), discarded=self.discarded
        )

    # status ----------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Let the short phases pass, as the control loop would."""
        follow = {
            "freeze": (0.1, "align"),
            "engage": (0.4, "operator"),
            "settle": (0.3, "resume"),
            "resume": (0.5, "policy"),
        }
        if "phase" in self.overrides:
            return
        if self.phase in follow and time.perf_counter() - self._phase_since > follow[self.phase][0]:
            self.enter(follow[self.phase][1])
        elif self.phase == "align" and time.perf_counter() - self._phase_since > 3:
            self.enter("ready")

    def status(self) -> StationStatus:
        self._advance()
        now = time.perf_counter()
        phase, denied = self._phase_said(), self._denied()
        fields: dict[str, object] = {
            "time_ns": time.monotonic_ns(),
            "station": "so101-lab",
            "mode": "active",
            "control_source": SOURCE_OF_PHASE[phase],
            "phase": phase,
            "advice": ADVICE[phase],
            "allowed": tuple(verb for verb in Verb if verb not in denied),
            "denied": {verb.value: reason for verb, reason in denied.items()},
            "recording": self.recording,
            "episode_index": len(self.episodes) if self.recording else None,
            "recording_s": now - self._recording_since if self.recording else 0.0,
            "task": self.task,
            "collection": "bottles",
            "episodes_done": sum(not row.discarded for row in self.episodes),
            "episodes_wanted": 50,
            "disk_free_s": 22_200.0,
            "streams": self._streams(),
            "joints": self._joints(now, phase),
            "handover": self._handover(now) if phase in ("freeze", "align", "ready", "engage") else None,
            "tactile": {"left": _touch(now, 0.0), "right": _touch(now, 1.5)},
            "policy_latency_ms": 14.2 + math.sin(now),
            "loop": LoopStatus(rate_hz=200.0, lateness_p99_ms=0.21, missed=0, clamps=3),
            "operator": "operator_1",
        }
        return StationStatus.model_validate(fields | self.overrides)

    def _streams(self) -> tuple[StreamStatus, ...]:
        cameras = tuple(
            StreamStatus(
                name=name,
                role="camera",
                expected_hz=30.0,
                rate_hz=0.0 if name in self.silent_cameras else 29.97,
                age_s=2.4 if name in self.silent_cameras else 0.02,
            )
            for name in self.cameras
        )
        others = tuple(
            StreamStatus(name=name, role=role, expected_hz=hz, rate_hz=hz, age_s=1 / hz)
            for name, role, hz in BASE_STREAMS
        )
        return cameras + others

    def _joints(self, now: float, phase: str) -> JointStatus:
        state = tuple(0.6 * math.sin(now * (0.5 + 0.13 * i) + i) for i in range(len(self.joints)))
        sent = tuple(0.6 * math.sin((now + 0.12) * (0.5 + 0.13 * i) + i) for i in range(len(self.joints)))
        policy = tuple(value + 0.08 * math.sin(3 * now + i) for i, value in enumerate(sent))
        operator = tuple(value + 0.05 for value in sent) if phase == "operator" else None
        return JointStatus(names=self.joints, state=state, sent=sent, policy=policy, operator=operator)

    def _handover(self, now: float) -> HandoverStatus:
        left = max(0.0, 1 - (now - self._phase_since) / 3) if self.phase == "align" else 0.1
        sizes = (0.03, -0.12, 0.31, 0.02, -0.08, 0.01)
        errors = tuple(sizes[i % len(sizes)] * left for i in range(len(self.joints)))
        return HandoverStatus(progress=1 - left, errors=errors, ready=self.phase == "ready")


def episode(index: int, outcome: str = "unset", duration_s: float = 21.4, **fields: object) -> EpisodeRow:
    """One row of the episode list."""
    base: dict[str, object] = {
        "index": index,
        "id": f"20261201-{index:04d}",
        "state": "complete",
        "task": "put the yellow bottle in the bin",
        "outcome": outcome,
        "collection_mode": "intervention",
        "duration_s": duration_s,
        "interventions": index % 3,
    }
    return EpisodeRow.model_validate(base | fields)


def _bind(sock: "zmq.Socket[bytes]", port: int) -> int:
    """Bind to the loopback, with some patience for a port that a predecessor has just left."""
    if not port:
        return int(sock.bind_to_random_port("tcp://127.0.0.1"))
    deadline = time.perf_counter() + 5
    while True:
        try:
            sock.bind(f"tcp://127.0.0.1:{port}")
        except zmq.ZMQError:
            if time.perf_counter() > deadline:
                raise
        else:
            return port


def _touch(now: float, shift: float) -> list[list[float]]:
    """An 8 x 8 pad with a contact that wanders [N]."""
    rows, columns = np.mgrid[0:8, 0:8]
    centre = 3.5 + 2 * math.sin(now + shift), 3.5 + 2 * math.cos(0.7 * now + shift)
    distance = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2
    return (1.8 * np.exp(-distance / 3)).round(3).tolist()  # type: ignore[no-any-return]


def moving_frames(seed: int, size: tuple[int, int], count: int = 60) -> Iterator[bytes]:
    """A table, a bin and a block that moves, as JPEGs; seamless when repeated."""
    height, width = size
    ramp = np.linspace(70, 150, height, dtype=np.float32)[:, None, None] * np.ones((1, width, 3), np.float32)
    grain = np.random.default_rng(seed).normal(0, 3, (height, width, 1))
    backdrop = np.clip(ramp * (0.9, 1.0, 1.05) + grain, 0, 255).astype(np.uint8)
    cv2.rectangle(backdrop, (width * 5 // 8, height // 2), (width * 7 // 8, height * 3 // 4), (96, 84, 70), -1)
    for step in range(count):
        angle = 2 * math.pi * step / count + seed
        frame = backdrop.copy()
        centre = int(width * (0.4 + 0.25 * math.cos(angle))), int(height * (0.5 + 0.2 * math.sin(angle)))
        cv2.line(frame, (width // 2, height), centre, (60, 60, 62), max(2, width // 24))
        cv2.circle(frame, centre, width // 24, (40, 40, 42), -1)
        block = centre[0] - width // 40, centre[1] + height // 12
        cv2.rectangle(frame, block, (block[0] + width // 20, block[1] + height // 12), (40, 190, 220), -1)
        yield cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()


def _scene_phase(phase: str, *, recording: bool = True) -> Callable[[FakeStation], None]:
    def play(station: FakeStation) -> None:
        station.episodes = [episode(i, ("success", "failure", "unset")[i % 3], 14.0 + 3.1 * i) for i in range(12)]
        station.recording, station._recording_since = recording, time.perf_counter() - 41
        station.enter(phase)
        station.overrides = {"phase": phase}
        station.silent.clear()

    return play


def _scene_fault(station: FakeStation) -> None:
    _scene_phase("stopped")(station)

    def unplug() -> None:
        station.silent_cameras = {"wrist"}
        station.update(faults=(FAULT,))

    _later(2.5, unplug)


def _later(delay_s: float, act: Callable[[], None]) -> None:
    timer = threading.Timer(delay_s, act)
    timer.daemon = True
    timer.start()


def _scene_amber(station: FakeStation) -> None:
    _scene_phase("policy")(station)
    streams = list(station._streams())
    streams[2] = streams[2].model_copy(update={"rate_hz": 23.1, "drops": 14})
    station.update(streams=tuple(streams), disk_free_s=1500.0)


def _scene_silent(station: FakeStation) -> None:
    _scene_phase("policy")(station)
    _later(2.5, station.silent.set)


SCENES: dict[str, Callable[[FakeStation], None]] = {
    **{phase: _scene_phase(phase) for phase in SOURCE_OF_PHASE},
    "idle": _scene_phase("hold", recording=False),
    "fault": _scene_fault,
    "amber": _scene_amber,
    "silent": _scene_silent,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=DEFAULT_REQUEST_PORT)
    parser.add_argument("--cameras", type=int, default=3)
    parser.add_argument("--joints", type=int, default=6)
    parser.add_argument("--scene", choices=("live", *SCENES), default="live")
    args = parser.parse_args()
    cameras = (CAMERAS + tuple(f"camera{i}" for i in range(4, 9)))[: args.cameras]
    joints = JOINTS if args.joints == len(JOINTS) else tuple(f"joint_{i}" for i in range(args.joints))
    station = FakeStation(request_port=args.port, cameras=cameras, joints=joints)
    if args.scene != "live":
        station.scene(args.scene)
    with station, contextlib.suppress(KeyboardInterrupt):
        print(station.endpoint, flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    main()
