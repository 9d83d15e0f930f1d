"""A whole station, put together from its file: hardware, control loop, proposers and recording session."""

import os
import secrets
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drivers import clock
from drivers.errors import DeviceConfigError
from recorder.segments import CollectionMode
from teleop_app.station.arbiter import Edge
from teleop_app.station.config import LeaderConfig, ScriptedSimOperatorConfig, StationConfig
from teleop_app.station.control_loop import ControlLoop
from teleop_app.station.control_stream import ControlStream
from teleop_app.station.errors import StationError
from teleop_app.station.hardware import Hardware
from teleop_app.station.health_motion import ArmMotion
from teleop_app.station.operator_source import OperatorSource, ScriptedSource
from teleop_app.station.proposals import Observation, ProposalRunner
from teleop_app.station.recorded_streams import RecordedStream
from teleop_app.station.scripted import ScriptedOperator, ScriptedPolicy
from teleop_app.station.session import Session

HOUSEKEEPING_S = 1.0
SWITCH_INTERVAL_S = 0.0005
"""How long another thread may keep the interpreter from the control loop; Python's default is a whole tick [s]."""


STATE_TIMEOUT_NS = 2_000_000_000
BUFFER_MARGIN_S = 5.0
"""Kept beyond what an episode may reach back, for the time that its files take to be made [s]."""


class Station:
    """Use `connect`, then `start`; `stop` works from any state and holds the arm."""

    def __init__(self, config: StationConfig, collection: Path, run_id: str | None = None) -> None:
        """Build; no I/O. `run_id` names this run's shared memory."""
        self.config = config
        self.run_id = run_id or secrets.token_hex(4)
        self.hardware = Hardware(config, self.run_id)
        self.control_stream = ControlStream(config.control.rate_hz, self.hardware.joints, config.health)
        self.streams: tuple[RecordedStream, ...] = (*self.hardware.streams, self.control_stream)
        self.session = Session(config, collection, self.streams)
        self.policy = ScriptedPolicy(config.policy) if config.policy is not None else None
        self.operator: ScriptedOperator | None = None
        self._operator_runner: ProposalRunner | None = None
        self.policy_runner = (
            ProposalRunner(self.policy, config.policy.rate_hz, self.observe)
            if self.policy is not None and config.policy is not None
            else None
        )
        self.loop = ControlLoop(
            config.control,
            self.hardware.follower(),
            self._operator_source(),
            self.policy_runner,
            self.control_stream.take,
        )
        self._motion = ArmMotion(self.hardware.moving_arms(), self.hardware.tell_cameras)
        self.loop.on_event = self.session.note_event
        self.session.policy_id = self.policy.id if self.policy is not None else ""
        self._housekeeper = threading.Thread(target=self._keep_house, name="housekeeping", daemon=True)
        self._stopping = threading.Event()
        self.attempts = 0
        """Policy attempts begun."""

    def connect(self) -> None:
        """Connect every device; raises one error that lists all that failed."""
        if self.config.ros_discovery_range != "LOCALHOST":
            os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = self.config.ros_discovery_range
        self.hardware.connect()

    def start(self) -> None:
        """Start the loop, the proposers and the housekeeping."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        for stream in self.streams:
            stream.keep(self.config.episodes.keep_before_s + BUFFER_MARGIN_S)
        for runner in (self.policy_runner, self._operator_runner):
            if runner is not None:
                runner.start()
        self.loop.start()
        self._motion.start()
        self._housekeeper.start()

    def stop(self) -> None:
        """Hold the arm, close an open episode, release everything."""
        self._stopping.set()
        self._motion.stop()
        self.loop.requests.put(Edge.PAUSE, "station")
        self.session.close()
        self.loop.stop()
        for runner in (self.policy_runner, self._operator_runner):
            if runner is not None:
                runner.stop()
        self.hardware.disconnect()

    def observe(self) -> Observation | None:
        """What proposers see now; None before the follower's first state."""
        name = self.config.follower
        if name is None:
            return None
        sample = self.hardware.joint_streams[name].reader.latest
        if sample is None:
            return None
        scene = self.hardware.scene
        return Observation(sample.stamp_ns, sample.position, scene.object_positions() if scene is not None else {})

    def begin_attempt(self, seed: int, mode: CollectionMode) -> None:
        """Put the scene back, if it can be, and tell the proposers that a new attempt begins."""
        scene = self.hardware.scene
        if scene is not None:
            with self.loop.standing_by():
                scene.reset_scene(seed)
                self._wait_for_state(clock.now_ns())
        intervention = mode is CollectionMode.INTERVENTION
        self.loop.policy_goes_on = intervention
        if self.policy is not None and intervention:
            self.policy.begin_attempt(self.attempts)
            self.attempts += 1
        if self.operator is not None:
            self.operator.begin_attempt(self.attempts, watch=intervention)

    def _wait_for_state(self, after_ns: int) -> None:
        """Wait until the follower has said where it is after `after_ns`."""
        deadline_ns = after_ns + STATE_TIMEOUT_NS
        while (observation := self.observe()) is None or observation.stamp_ns <= after_ns:
            if clock.now_ns() > deadline_ns:
                raise StationError(f"{self.config.follower} has not reported its state since the scene was put back")
            clock.sleep_until_ns(clock.now_ns() + 2_000_000)

    def set_in_motion(self, mode: CollectionMode, asked_by: str) -> None:
        """Let the episode's first source take control: the policy, or in a scripted demonstration the operator."""
        if mode is CollectionMode.INTERVENTION and self.policy is not None:
            self.loop.requests.put(Edge.START_POLICY, asked_by)
        elif mode is CollectionMode.TELEOP_DEMO and self.operator is not None:
            self.loop.requests.put(Edge.TAKEOVER, asked_by, trigger="demonstration")

    def _operator_source(self) -> OperatorSource | None:
        config = self.config.operator
        if isinstance(config, LeaderConfig):
            return self.hardware.leader(config)
        if not isinstance(config, ScriptedSimOperatorConfig):
            return None
        if self.hardware.scene is None:
            raise DeviceConfigError("operator.kind: scripted_sim needs a sim_arm among the devices")

        def ask(edge: Edge, reason: str) -> None:
            detail: dict[str, Any] = {"trigger": "scripted_test"} | ({"reason": reason} if reason else {})
            self.loop.requests.put(edge, ScriptedOperator.id, **detail)

        asks: Callable[[Edge, str], None] | None = ask if config.autonomous else None
        self.operator = ScriptedOperator(asks, lambda: self.loop.arbiter.phase)
        self._operator_runner = ProposalRunner(self.operator, config.rate_hz, self.observe)
        return ScriptedSource(self._operator_runner)

    def _keep_house(self) -> None:
        while not self._stopping.wait(HOUSEKEEPING_S):
            self.session.keep_house()
