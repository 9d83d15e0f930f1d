"""Who commands the arm, as colour, word, shape and next step: one row for each phase of the arbiter.

Colour is never alone: the word and the shape say the same.
"""

from dataclasses import dataclass
from enum import StrEnum

from teleop_app.console.inbox import LinkState
from teleop_app.station.messages import StationStatus


class Shape(StrEnum):
    """Drawn left of the word."""

    DISC = "disc"
    DIAMOND = "diamond"
    ARROWS = "arrows"
    BARS = "bars"
    OCTAGON = "octagon"
    QUESTION = "question"


class Tint(StrEnum):
    """A field of the palette, with `on_` for the text on it."""

    POLICY = "policy"
    OPERATOR = "operator"
    HANDOVER = "handover"
    HOLD = "hold"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Look:
    """One appearance of the banner."""

    tint: Tint
    word: str
    shape: Shape
    sentence: str
    """What is so."""
    offers: tuple[tuple[str, str], ...] = ()
    """What can be done next: an action's key and what it does here; shown only while it is allowed."""
    stripes: bool = False
    known: bool = True
    """False: what it says is old."""


_TAKES_OVER, _RELEASES, _GIVES_UP = ("takeover", "takes over"), ("release", "releases"), ("release", "gives up")


def _handover(sentence: str, *offers: tuple[str, str]) -> Look:
    return Look(Tint.HANDOVER, "HANDOVER", Shape.ARROWS, sentence, offers, stripes=True)


PHASES: dict[str, Look] = {
    "policy": Look(Tint.POLICY, "POLICY", Shape.DISC, "commands the arm", (_TAKES_OVER,)),
    "operator": Look(Tint.OPERATOR, "OPERATOR", Shape.DIAMOND, "you command the arm", (_RELEASES,)),
    "freeze": _handover("the arm is frozen for you", _GIVES_UP),
    "align": _handover("move your device to the arm's pose", _GIVES_UP),
    "ready": _handover("aligned", ("takeover", "engages"), _GIVES_UP),
    "engage": _handover("you are getting control", _GIVES_UP),
    "settle": _handover("the arm holds before the policy goes on", _TAKES_OVER),
    "resume": _handover("the policy is getting control back", _TAKES_OVER),
    "hold": Look(Tint.HOLD, "HOLD", Shape.BARS, "the arm holds", (_TAKES_OVER, ("resume", "resumes the policy"))),
    "stopped": Look(Tint.STOPPED, "STOPPED", Shape.OCTAGON, "nothing moves", (("rearm", "re-arms when it is safe"),)),
}
"""By StationStatus.phase."""

SOURCES: dict[str, Look] = {
    "policy": PHASES["policy"],
    "operator": PHASES["operator"],
    "handover": _handover("control is changing hands"),
    "hold": Look(Tint.HOLD, "HOLD", Shape.BARS, "the arm holds"),
    "stopped": PHASES["stopped"],
    "none": Look(Tint.HOLD, "NONE", Shape.BARS, "nobody commands the arm"),
    "shared": Look(Tint.OPERATOR, "SHARED", Shape.DIAMOND, "you and the policy command the arm together"),
    "scripted": Look(Tint.POLICY, "SCRIPTED", Shape.ARROWS, "a script commands the arm"),
}
"""By StationStatus.control_source, for a phase that has no row of its own or disagrees."""

UNKNOWN = Look(Tint.HOLD, "UNKNOWN", Shape.QUESTION, "who commands the arm is not known now", known=False)
"""While the station cannot be heard."""


def look(status: StationStatus | None, link: LinkState) -> Look:
    """What the banner shows; the source wins where phase and source disagree, since it is what was executed."""
    if status is None or link is not LinkState.LIVE:
        return UNKNOWN
    by_source = SOURCES.get(status.control_source, UNKNOWN)
    by_phase = PHASES.get(status.phase)
    return by_phase if by_phase is not None and by_phase.word == by_source.word else by_source
