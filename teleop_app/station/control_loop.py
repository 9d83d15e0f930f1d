"""The control tick: read, let the arbiter pick the source, blend, limit, send, record; on absolute deadlines."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from drivers import clock
from drivers.errors import DriverError
from drivers.samples import FloatArray
from recorder.derivation import RELEASE_REQUEST, TAKEOVER_REQUEST
from teleop_app.station.arbiter import MOVING, Arbiter, Edge, Phase
from teleop_app.station.config import ControlConfig
from teleop_app.station.follower import Follower
from teleop_app.station.handover import Alignment, Transfer, largest_error
from teleop_app.station.limits import Clamp
from teleop_app.station.operator_source import OperatorSource
from teleop_app.station.proposals import Proposal, ProposalSource
from teleop_app.station.rate import Ticker, take_realtime_priority
from teleop_app.station.requests import ControlRequest, RequestQueue
from teleop_app.station.tick import Inputs, TickRecord

log = logging.getLogger(__name__)

REQUEST_EVENTS = {Edge.TAKEOVER: TAKEOVER_REQUEST, Edge.RELEASE: RELEASE_REQUEST}
MAX_EDGES_PER_TICK = 4


class ControlLoop:
    """Runs the arbiter at a fixed rate. Other threads only `request`; the rest of the state belongs to the loop."""

    def __init__(
        self,
        config: ControlConfig,
        follower: Follower | None,
        operator: OperatorSource | None,
        policy: ProposalSource | None,
        record: Callable[[TickRecord], None],
    ) -> None:
        """Prepare; without a follower the station is passive. `record` is called once a tick, in the loop's thread."""
        self.config, self.follower, self.operator, self.policy = config, follower, operator, policy
        self.arbiter = Arbiter(passive=follower is None)
        self.requests = RequestQueue()
        self.ticker = Ticker(config.rate_hz)
        self.on_event: Callable[[int, str, dict[str, Any]], None] = lambda *_: None
        """Called with time [ns], kind and detail of everything worth remembering."""
        self.last_tick: TickRecord | None = None
        self.clamps = 0
        """Ticks whose command was altered by limits."""
        self.faults: list[str] = []
        """Latched; cleared by a re-arm."""
        self.realtime = False
        """Whether the operating system lets the loop run before everything else."""
        self._record = record
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.policy_goes_on = True
        """Whether a release hands on to the policy; otherwise the arm holds."""
        self._standing_by = False
        self._transfer: Transfer | None = None
        self._alignment = Alignment(config.handover.align_tolerance, config.handover.align_s)
        self._period_s = self.ticker.period_ns / 1e9

    def start(self) -> None:
        """Start ticking."""
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop ticking and wait; the arm holds its last command."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)

    @contextmanager
    def standing_by(self) -> Iterator[None]:
        """Send nothing inside, because the arm is moved from outside; afterwards hold where it then is.

        Whoever moves the arm must not leave before a state measured after the move has arrived.
        """
        self._standing_by = True
        self.ticker.let_pass(2)
        try:
            yield
        finally:
            self._standing_by = False

    @property
    def handover(self) -> tuple[float, FloatArray | None]:
        """Progress of the handover, 0 to 1, and the operator's device minus the follower's command [rad]."""
        tick = self.last_tick
        if tick is None or tick.inputs.operator is None or tick.sent is None:
            return 0.0, None
        return tick.blend, tick.inputs.operator.position - tick.sent

    def _run(self) -> None:
        self.realtime = take_realtime_priority()
        while not self._stop.is_set():
            deadline_ns, now_ns = self.ticker.wait()
            try:
                self.tick(deadline_ns, now_ns)
            except DriverError as error:
                self.fault(f"The arm did not take a command: {error}. It holds. Re-arm when it is back.", now_ns)
            except Exception:
                log.exception("a control tick failed")
                self.fault("The control loop failed in one tick. The arm holds. Re-arm, and report the log.", now_ns)

    def tick(self, deadline_ns: int, now_ns: int) -> TickRecord:
        """Do one tick; public for tests that bring their own time."""
        inputs = self._read(deadline_ns, now_ns)
        for request in self.requests.take():
            self._handle(request, inputs)
        self._follow_conditions(inputs)
        target, share = self._target(inputs)
        sent, clamps = self._send(target, inputs)
        watchdog = self.config.watchdog
        record = TickRecord(
            inputs=inputs,
            phase=self.arbiter.phase,
            blend=share,
            sent=sent,
            clamps=clamps,
            operator_valid=inputs.age_s(inputs.operator) <= watchdog.hold_s,
            policy_valid=inputs.age_s(inputs.policy) <= watchdog.hold_s,
        )
        self._record(record)
        self.last_tick = record
        return record

    def fault(self, sentence: str, now_ns: int) -> None:
        """Latch a fault and hold."""
        if sentence not in self.faults:
            self.faults.append(sentence)
            self.on_event(now_ns, "fault", {"fault": sentence})
        self._fire(Edge.LOST, now_ns, {"cause": "fault"})

    def _read(self, deadline_ns: int, now_ns: int) -> Inputs:
        sample = self.follower.reader.latest if self.follower is not None else None
        return Inputs(
            now_ns=now_ns,
            deadline_ns=deadline_ns,
            state=sample.position if sample is not None else None,
            state_ns=sample.stamp_ns if sample is not None else 0,
            operator=self.operator.latest() if self.operator is not None else None,
            policy=self.policy.latest if self.policy is not None else None,
        )

    def _handle(self, request: ControlRequest, inputs: Inputs) -> None:
        """Take a request's edge; a takeover press with the device aligned is the consent to engage."""
        edge = request.edge
        detail = {"asked_by": request.asked_by, "tick_ns": inputs.now_ns, **request.detail}
        rearmed = edge is Edge.REARM and bool(self.faults)
        if rearmed:
            self.faults.clear()
        if edge is Edge.TAKEOVER and self.arbiter.phase is Phase.READY:
            edge = Edge.ENGAGE
        if edge is Edge.TAKEOVER and self.operator is not None:
            detail["handover_mode"] = self.operator.handover_mode
        refused = "" if rearmed or self.arbiter.allows(edge) else f"not possible in {self.arbiter.phase.value}"
        if not refused and self.faults and edge in (Edge.TAKEOVER, Edge.START_POLICY):
            refused = "a fault is latched"
        kind = REQUEST_EVENTS.get(request.edge, f"{request.edge.value}_request")
        self.on_event(request.stamp_ns, kind, {**detail, "refused": refused} if refused else detail)
        if not refused:
            self._fire(edge, inputs.now_ns, {"cause": kind, "request_ns": request.stamp_ns})

    def _fire(self, edge: Edge, now_ns: int, detail: dict[str, Any]) -> None:
        before = self.arbiter.phase
        if not self.arbiter.fire(edge, now_ns):
            return
        self._entered(now_ns)
        self.on_event(now_ns, "phase", {"from": before.value, "to": self.arbiter.phase.value, **detail})

    def _entered(self, now_ns: int) -> None:
        """What entering a phase does once."""
        self._transfer = None
        if self.arbiter.phase is not Phase.READY:
            self._alignment.forget()
        phase = self.arbiter.phase
        if phase is Phase.RESUME and self.policy is not None:
            self.policy.reset()
        if phase is Phase.FREEZE and self.operator is not None:
            self.operator.engage()

    def _follow_conditions(self, inputs: Inputs) -> None:
        """Take the edges that conditions, not people, cause; several may follow at once."""
        if self.follower is None:
            return
        for _ in range(MAX_EDGES_PER_TICK):
            edge = self._condition(inputs)
            if edge is None:
                return
            self._fire(edge, inputs.now_ns, {"cause": "condition"})

    def _condition(self, inputs: Inputs) -> Edge | None:  # noqa: C901 -- one case a phase
        phase, in_phase_s = self.arbiter.phase, self.arbiter.in_phase_s(inputs.now_ns)
        handover = self.config.handover
        match phase:
            case Phase.FREEZE:
                return Edge.FROZEN if in_phase_s > 0 else None
            case Phase.ALIGN:
                return Edge.ALIGNED if self._aligned(inputs) else None
            case Phase.READY if not self._aligned(inputs):
                return Edge.UNALIGNED
            case Phase.READY:
                return Edge.ENGAGE if self.operator is not None and self.operator.direct else None
            case Phase.ENGAGE:
                return self._blended(inputs, inputs.operator, handover.engage_s, Edge.ENGAGED)
            case Phase.SETTLE if in_phase_s >= handover.settle_s:
                return Edge.SETTLED if self.policy is not None and self.policy_goes_on else Edge.SETTLED_ALONE
            case Phase.RESUME:
                return self._blended(inputs, inputs.policy, handover.resume_s, Edge.RESUMED)
            case Phase.POLICY:
                return self._silence(inputs, inputs.policy, "The policy")
            case Phase.OPERATOR:
                return self._silence(inputs, inputs.operator, "The operator's device")
            case _:
                return None

    def _aligned(self, inputs: Inputs) -> bool:
        """Whether the operator may engage: the device agrees with the last command, or needs not."""
        if self.operator is None or inputs.operator is None or self.follower is None or self.follower.last is None:
            return False
        fresh = inputs.age_s(inputs.operator) <= self.config.watchdog.hold_s
        error = largest_error(inputs.operator.position, self.follower.last.position) if fresh else float("inf")
        return self.operator.direct or self._alignment.see(error, inputs.now_ns)

    def _blended(self, inputs: Inputs, incoming: Proposal | None, duration_s: float, done: Edge) -> Edge | None:
        """Begin a blend with the first fresh action; end it after its duration; give up on silence or a jump."""
        if self._silence(inputs, incoming, "Whoever takes over") is not None:
            return Edge.LOST
        if self._transfer is not None:
            return done if self._transfer.over(inputs.now_ns) else None
        fresh = incoming is not None and incoming.stamp_ns > self.arbiter.entered_ns
        if incoming is None or not fresh or self.follower is None or self.follower.last is None:
            return None
        jump = largest_error(incoming.position, self.follower.last.position)
        allowed = self.config.handover.resume_max_jump
        if done is Edge.RESUMED and not jump <= allowed:
            self._latch(
                f"The policy's first action is {jump:.2f} rad away from the arm (allowed {allowed:.2f}). "
                "The arm holds. Re-arm, then take over.",
                inputs.now_ns,
            )
            return Edge.LOST
        self._transfer = Transfer(self.follower.last.position, inputs.now_ns, duration_s)
        return done if self._transfer.over(inputs.now_ns) else None

    def _silence(self, inputs: Inputs, proposal: Proposal | None, who: str) -> Edge | None:
        """LOST, with a latched fault, when `proposal` or the arm's state has been silent for too long."""
        limit_s = self.config.watchdog.disengage_s
        age_s = min(inputs.age_s(proposal), self.arbiter.in_phase_s(inputs.now_ns))
        if age_s > limit_s:
            self._latch(
                f"{who} has been silent for {age_s:.1f} s. The arm holds. Re-arm when it is back.", inputs.now_ns
            )
            return Edge.LOST
        if inputs.state_age_s > limit_s:
            self._latch(
                f"The arm has not reported its state for {inputs.state_age_s:.1f} s. It holds. "
                "Check cable and power, then re-arm.",
                inputs.now_ns,
            )
            return Edge.LOST
        return None

    def _latch(self, sentence: str, now_ns: int) -> None:
        self.faults.append(sentence)
        self.on_event(now_ns, "fault", {"fault": sentence})

    def _target(self, inputs: Inputs) -> tuple[FloatArray | None, float]:
        """What the source in charge asks for, None to hold, and the share of whoever takes over."""
        hold_s = self.config.watchdog.hold_s
        if inputs.state_age_s > hold_s:
            return None, 0.0
        operator = inputs.operator if inputs.age_s(inputs.operator) <= hold_s else None
        policy = inputs.policy if inputs.age_s(inputs.policy) <= hold_s else None
        match self.arbiter.phase:
            case Phase.POLICY if policy is not None:
                return policy.position, 0.0
            case Phase.OPERATOR:
                return (operator.position, 1.0) if operator is not None else (None, 1.0)
            case Phase.ENGAGE if operator is not None and self._transfer is not None:
                return self._transfer.at(operator.position, inputs.now_ns)
            case Phase.RESUME if policy is not None and self._transfer is not None:
                return self._transfer.at(policy.position, inputs.now_ns)
            case _:
                return None, 0.0

    def _send(self, target: FloatArray | None, inputs: Inputs) -> tuple[FloatArray | None, Clamp]:
        if self.follower is None or inputs.state is None:
            return None, Clamp.NONE
        if self._standing_by:
            self.follower.last = None
            return None, Clamp.NONE
        held = Clamp.STALE if self.arbiter.phase in MOVING else Clamp.NONE
        sent = self.follower.command(held if target is None else target, inputs.state, self._period_s, clock.now_ns())
        self.clamps += bool(sent.clamps)
        return sent.position, sent.clamps
