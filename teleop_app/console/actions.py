"""Everything an operator can do, as one table of data; keys, buttons, legend and tooltips are made from it.

A new action is one row. Two actions may share a key and a place in the bar when only one of them makes sense at a
time: then `when` says which one has it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from teleop_app.station.messages import StationStatus, Verb


def _always(_: StationStatus) -> bool:
    return True


def _idle(status: StationStatus) -> bool:
    return not status.recording


def _recording(status: StationStatus) -> bool:
    return status.recording


def _operator_commands(status: StationStatus) -> bool:
    return status.phase == "operator"


def _operator_waits(status: StationStatus) -> bool:
    return status.phase != "operator"


def _held(status: StationStatus) -> bool:
    return status.phase == "hold" and not status.faults


def _latched(status: StationStatus) -> bool:
    return status.phase == "stopped" or (status.phase == "hold" and bool(status.faults))


def _moving(status: StationStatus) -> bool:
    return status.phase not in ("hold", "stopped")


class Emphasis(StrEnum):
    """How much a button asks to be seen."""

    NORMAL = "normal"
    MAIN = "main"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Action:
    """One thing an operator can do."""

    key: str
    """Its name in settings, pedal bindings and tests."""
    verb: Verb
    text: str
    """On the button."""
    shortcut: str
    """In Qt's portable form; shared keys belong to whichever action's `when` holds."""
    description: str
    """What it does, one sentence, for the tooltip."""
    slot: str
    """Its place in the action bar."""
    also: str = ""
    """A second key, always its own."""
    when: Callable[[StationStatus], bool] = _always
    """Whether it has its shared key and place now."""
    args: dict[str, str] = field(default_factory=dict)
    emphasis: Emphasis = Emphasis.NORMAL
    always: bool = False
    """Sent whatever the station said last; only for STOP (software)."""


ACTIONS: tuple[Action, ...] = (
    Action("record", Verb.RECORD, "Record", "R", "Start an episode.", "record", when=_idle),
    Action(
        "stop_episode", Verb.STOP_EPISODE, "End", "R", "End the episode and keep it, outcome unset.", "record",
        when=_recording,
    ),
    Action("success", Verb.SUCCESS, "Success", "S", "Mark the open or the last episode a success.", "success"),
    Action("failure", Verb.FAILURE, "Failure", "F", "Mark the open or the last episode a failure.", "failure"),
    Action(
        "discard", Verb.DISCARD, "Discard", "D", "Move the open or the last episode to the trash; can be undone.",
        "discard",
    ),
    Action("undo_discard", Verb.UNDO_DISCARD, "Undo", "Ctrl+Z", "Bring the last discarded episode back.", "undo"),
    Action(
        "takeover", Verb.TAKEOVER, "Take over", "Space", "Stop the policy and take the arm; once aligned, engage.",
        "takeover", when=_operator_waits, emphasis=Emphasis.MAIN,
    ),
    Action(
        "release", Verb.RELEASE, "Release", "Space", "Hand the arm on; during a handover, give the takeover up.",
        "release", also="Backspace", when=_operator_commands, emphasis=Emphasis.MAIN,
    ),
    Action(
        "reason", Verb.REASON, "Reason", "1-9", "Say why you took over: press 1 to 9, or click for the list.",
        "reason",
    ),
    Action("pause", Verb.PAUSE, "Pause", "P", "Hold the arm where it is.", "pause", when=_moving),
    Action("resume", Verb.RESUME, "Resume", "P", "Let the policy go on.", "pause", when=_held),
    Action(
        "rearm", Verb.REARM, "Re-arm", "Ctrl+R", "Leave the stop or the fault; the arm keeps holding.", "pause",
        when=_latched,
    ),
    Action(
        "stop", Verb.STOP, "STOP (software)", "Esc",
        "Hold the arm at once and latch. This is not an emergency stop.", "stop",
        emphasis=Emphasis.STOP, always=True,
    ),
)  # fmt: skip
"""The table, in the order of the action bar."""

REASON_KEYS = "123456789"
CAPS = {"Backspace": "⌫", "Ctrl+Z": "Ctrl Z", "Ctrl+R": "Ctrl R"}
"""What a key cap says where Qt's name is longer than its sign."""


def reason_actions(reasons: Iterable[str]) -> tuple[Action, ...]:
    """One action for each reason of an intervention, on the keys 1 to 9; further reasons have no key."""
    keyed = [(digit, reason, reason.replace("_", " ")) for digit, reason in zip(REASON_KEYS, reasons, strict=False)]
    return tuple(
        Action(
            f"reason_{digit}", Verb.REASON, text, digit, f"Reason of the current or last intervention: {text}.",
            "reason", args={"reason": reason},
        )
        for digit, reason, text in keyed
    )  # fmt: skip


def cap(shortcut: str) -> str:
    """What the key cap of `shortcut` says."""
    return CAPS.get(shortcut, shortcut)


def key_now(action: Action, status: StationStatus | None) -> str:
    """The key that triggers `action` now."""
    if action.also and status is not None and not action.when(status):
        return action.also
    return action.shortcut


def refusal(action: Action, status: StationStatus | None, trouble: str = "") -> str:
    """Why `action` is impossible now; empty if it is possible.

    Args:
        action: A row of the table.
        status: The newest of the station, None before the first.
        trouble: Why the station cannot be asked at all; empty while it talks.
    """
    if action.always:
        return ""
    if trouble or status is None:
        return trouble or "The station has not said anything yet."
    if reason := status.denied.get(action.verb.value):
        return reason
    if action.verb not in status.allowed:
        return "The station does not allow it now."
    return ""


def owner(actions: Iterable[Action], key: str, status: StationStatus | None) -> Action | None:
    """Which of `actions` the key belongs to now: its own second key first, then the first whose `when` holds."""
    candidates = [action for action in actions if key in (action.shortcut, action.also)]
    for action in candidates:
        if action.also == key or status is None or action.when(status):
            return action
    return None


def in_slot(actions: Iterable[Action], slot: str, status: StationStatus | None) -> Action:
    """Which action a place in the bar shows now."""
    candidates = [action for action in actions if action.slot == slot]
    holding = (action for action in candidates if status is None or action.when(status))
    return next(holding, candidates[0])


def tooltip(action: Action, status: StationStatus | None, reason: str) -> str:
    """Description, key and, when dimmed, why."""
    lines = [f"{action.description} Key: {cap(key_now(action, status))}"]
    return "\n".join([*lines, reason] if reason else lines)
