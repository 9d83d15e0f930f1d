"""Who commands the follower: one table of phases and edges. Threads only ask; the control loop fires the edges.

HOLD --start_policy--> RESUME --resumed--> POLICY --takeover--> FREEZE --frozen--> ALIGN --aligned--> READY
READY --engage--> ENGAGE --engaged--> OPERATOR --release--> SETTLE --settled--> RESUME (or HOLD without a policy)
any --pause, lost--> HOLD      any --stop--> STOPPED --rearm--> HOLD
"""

from enum import StrEnum

from recorder.segments import ControlSource


class Phase(StrEnum):
    """Where the arbiter is."""

    HOLD = "hold"
    RESUME = "resume"
    POLICY = "policy"
    FREEZE = "freeze"
    ALIGN = "align"
    READY = "ready"
    ENGAGE = "engage"
    OPERATOR = "operator"
    SETTLE = "settle"
    STOPPED = "stopped"


class Edge(StrEnum):
    """What can move it: requests of people and programs, and conditions that the loop finds."""

    TAKEOVER = "takeover"
    RELEASE = "release"
    START_POLICY = "start_policy"
    PAUSE = "pause"
    STOP = "stop"
    REARM = "rearm"
    FROZEN = "frozen"
    """One tick has held the follower still."""
    ALIGNED = "aligned"
    UNALIGNED = "unaligned"
    ENGAGE = "engage"
    """The operator's consent, with the device aligned."""
    ENGAGED = "engaged"
    SETTLED = "settled"
    """The hold after a release is over and the policy goes on."""
    SETTLED_ALONE = "settled_alone"
    """The hold after a release is over and there is no policy to go on with."""
    RESUMED = "resumed"
    LOST = "lost"
    """Whoever commands has fallen silent, or its command was refused."""


P, E = Phase, Edge
HANDOVERS = (P.FREEZE, P.ALIGN, P.READY, P.ENGAGE)
MOVING = (P.POLICY, P.OPERATOR)
"""Phases in which somebody's command is due at every tick."""

ACTIVE_TABLE: dict[tuple[Phase, Edge], Phase] = {
    (P.HOLD, E.TAKEOVER): P.FREEZE,
    (P.HOLD, E.START_POLICY): P.RESUME,
    (P.RESUME, E.RESUMED): P.POLICY,
    (P.RESUME, E.TAKEOVER): P.FREEZE,
    (P.POLICY, E.TAKEOVER): P.FREEZE,
    (P.FREEZE, E.FROZEN): P.ALIGN,
    (P.ALIGN, E.ALIGNED): P.READY,
    (P.READY, E.UNALIGNED): P.ALIGN,
    (P.READY, E.ENGAGE): P.ENGAGE,
    (P.ENGAGE, E.ENGAGED): P.OPERATOR,
    (P.OPERATOR, E.RELEASE): P.SETTLE,
    (P.SETTLE, E.SETTLED): P.RESUME,
    (P.SETTLE, E.SETTLED_ALONE): P.HOLD,
    (P.SETTLE, E.TAKEOVER): P.FREEZE,
    (P.STOPPED, E.REARM): P.HOLD,
    **{(phase, E.RELEASE): P.SETTLE for phase in HANDOVERS},
    **{(phase, edge): P.HOLD for phase in Phase if phase not in (P.HOLD, P.STOPPED) for edge in (E.PAUSE, E.LOST)},
    **{(phase, E.STOP): P.STOPPED for phase in Phase if phase is not P.STOPPED},
}
"""An active station: the follower is ours."""

PASSIVE_TABLE: dict[tuple[Phase, Edge], Phase] = {
    (P.POLICY, E.TAKEOVER): P.OPERATOR,
    (P.OPERATOR, E.RELEASE): P.POLICY,
}
"""A passive station: a foreign controller commands, edges are only tagged."""

SOURCES: dict[Phase, ControlSource] = {
    P.HOLD: ControlSource.HOLD,
    P.RESUME: ControlSource.HANDOVER,
    P.POLICY: ControlSource.POLICY,
    P.FREEZE: ControlSource.HANDOVER,
    P.ALIGN: ControlSource.HANDOVER,
    P.READY: ControlSource.HANDOVER,
    P.ENGAGE: ControlSource.HANDOVER,
    P.OPERATOR: ControlSource.OPERATOR,
    P.SETTLE: ControlSource.HANDOVER,
    P.STOPPED: ControlSource.STOPPED,
}
"""What a tick in each phase is recorded as."""

ADVICE: dict[Phase, str] = {
    P.HOLD: "The arm holds. Take over to command it, or resume the policy.",
    P.RESUME: "The policy is getting control back.",
    P.POLICY: "The policy commands the arm. Take over the moment it goes wrong.",
    P.FREEZE: "The arm is frozen for your takeover.",
    P.ALIGN: "Move your device to the arm's pose.",
    P.READY: "Aligned. Take over again to engage, or release to give up.",
    P.ENGAGE: "You are getting control.",
    P.OPERATOR: "You command the arm. Release to hand it on.",
    P.SETTLE: "The arm holds before the policy goes on.",
    P.STOPPED: "Stopped. Re-arm when it is safe; nothing moves until then.",
}
"""One sentence for the operator in each phase."""


class Arbiter:
    """The table and where it stands. Used by one thread, the control loop's."""

    def __init__(self, *, passive: bool = False) -> None:
        """Start in HOLD, or in POLICY for a passive station."""
        self._table = PASSIVE_TABLE if passive else ACTIVE_TABLE
        self.phase = Phase.POLICY if passive else Phase.HOLD
        self.entered_ns = 0
        """When the phase was entered, monotonic clock [ns]."""

    @property
    def source(self) -> ControlSource:
        """Who commands now."""
        return SOURCES[self.phase]

    def allows(self, edge: Edge) -> bool:
        """Whether `edge` leads anywhere from here."""
        return (self.phase, edge) in self._table

    def fire(self, edge: Edge, now_ns: int) -> bool:
        """Take `edge` if the table has it; return whether it did."""
        target = self._table.get((self.phase, edge))
        if target is None:
            return False
        self.phase, self.entered_ns = target, now_ns
        return True

    def in_phase_s(self, now_ns: int) -> float:
        """Time since the phase was entered [s]."""
        return (now_ns - self.entered_ns) / 1e9
