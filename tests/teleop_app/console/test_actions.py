"""The table by itself, and every row of it through the real window to the station."""

import itertools

import pytest
from PyQt6.QtCore import QCoreApplication, QEvent, Qt
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtTest import QTest

from teleop_app.console.actions import ACTIONS, REASON_KEYS, Action, key_now, owner, reason_actions, refusal
from teleop_app.console.main_window import MainWindow
from teleop_app.station.arbiter import Phase
from teleop_app.station.messages import StationStatus, Verb
from tests.fakes.hands import handle, press, wait_until
from tests.fakes.station import REASONS, FakeStation, episode

TABLE = (*ACTIONS, *reason_actions(REASONS))
KEYED = [action for action in TABLE if action.key != "reason"]
SITUATIONS = [(phase.value, recording) for phase, recording in itertools.product(Phase, (True, False))]


def status(phase: str, *, recording: bool = False, **fields: object) -> StationStatus:
    base = {"time_ns": 0, "station": "s", "mode": "active", "control_source": "hold", "phase": phase}
    return StationStatus.model_validate(base | {"recording": recording} | fields)


def situation_for(action: Action) -> tuple[str, bool]:
    """A phase and recording state in which the action has its shared key."""
    return next((p, r) for p, r in SITUATIONS if owner(TABLE, action.shortcut, status(p, recording=r)) == action)


def prepare(station: FakeStation, window: MainWindow, action: Action, denied: dict[str, str]) -> None:
    """Bring station and window to where `action` has its key, and is allowed unless `denied`."""
    phase, recording = situation_for(action)
    station.episodes, station.recording = [episode(0)], recording
    allowed = tuple(verb for verb in Verb if verb.value not in denied)
    station.update(phase=phase, recording=recording, allowed=allowed, denied=denied)
    reason = denied.get(action.verb.value, "")
    wait_until(
        lambda: (
            (now := window.situation.status) is not None
            and (now.phase, now.recording) == (phase, recording)
            and now.denied.get(action.verb.value, "") == reason
            and len(now.allowed) == len(allowed)
        ),
        "the situation arrived",
    )


@pytest.mark.parametrize("action", KEYED, ids=lambda action: action.key)
def test_pressing_its_key_asks_the_station(station: FakeStation, window: MainWindow, action: Action) -> None:
    prepare(station, window, action, {})
    press(window, action.shortcut)
    wait_until(lambda: bool(station.verbs()), "the request arrived")
    assert [(r.verb, r.args) for r in station.requests if r.verb is action.verb] == [(action.verb, action.args)]
    assert station.verbs() == [action.verb]


@pytest.mark.parametrize("action", [a for a in KEYED if not a.always], ids=lambda action: action.key)
def test_denied_is_dimmed_says_why_and_sends_nothing(station: FakeStation, window: MainWindow, action: Action) -> None:
    prepare(station, window, action, {action.verb.value: "The gripper is on fire."})
    button = window.action_bar.buttons[action.slot]
    wait_until(lambda: not button.isEnabled(), "dimmed")
    assert "The gripper is on fire." in button.toolTip()
    press(window, action.shortcut)
    assert "The gripper is on fire." in window.log.lines[0]
    press(window, "Esc")  # arrives after anything that the first key could have sent
    wait_until(lambda: Verb.STOP in station.verbs(), "the stop arrived")
    assert station.verbs() == [Verb.STOP]


@pytest.mark.parametrize("slot", list(dict.fromkeys(a.slot for a in ACTIONS if a.slot != "reason")))
def test_clicking_the_button_asks_the_same(station: FakeStation, window: MainWindow, slot: str) -> None:
    action = next(action for action in ACTIONS if action.slot == slot)
    prepare(station, window, action, {})
    button = window.action_bar.buttons[slot]
    wait_until(lambda: button.isEnabled() and button.action_shown == action, "the button is live")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    wait_until(lambda: bool(station.verbs()), "the request arrived")
    assert station.verbs() == [action.verb]


def test_stop_is_sent_even_when_the_station_said_it_would_refuse(station: FakeStation, window: MainWindow) -> None:
    stop = next(action for action in ACTIONS if action.always)
    prepare(station, window, stop, {"stop": "Already stopped."})
    assert window.action_bar.buttons["stop"].isEnabled()
    press(window, "Esc")
    wait_until(lambda: station.verbs() == [Verb.STOP], "the stop arrived")


def test_a_held_key_asks_once(station: FakeStation, window: MainWindow) -> None:
    for repeat in (False, True, True, True):
        event = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_R, Qt.KeyboardModifier.NoModifier, text="r", autorep=repeat)
        QCoreApplication.sendEvent(handle(window), event)
    press(window, "Esc")
    wait_until(lambda: Verb.STOP in station.verbs(), "the stop arrived")
    assert station.verbs() == [Verb.RECORD, Verb.STOP]


def test_a_held_key_asks_once_even_if_the_window_system_hides_that_it_repeats(
    station: FakeStation, window: MainWindow
) -> None:
    """X11: each repeat is a release and a press."""
    for _ in range(5):
        press(window, "R")
    press(window, "Esc")
    wait_until(lambda: Verb.STOP in station.verbs(), "the stop arrived")
    assert station.verbs() == [Verb.RECORD, Verb.STOP]


def test_while_writing_the_task_only_stop_works(station: FakeStation, window: MainWindow) -> None:
    window.activateWindow()
    window.top_bar.task.setFocus()
    wait_until(window.top_bar.task.hasFocus, "the field has the keys")
    press(window, "R")
    assert "r" in window.top_bar.task.text().lower()
    press(window, "Esc")
    wait_until(lambda: bool(station.verbs()), "the stop arrived")
    assert station.verbs() == [Verb.STOP]


def test_a_new_task_reaches_the_station_and_comes_back(station: FakeStation, window: MainWindow) -> None:
    field = window.top_bar.task
    field.setFocus()
    field.setText("fold the towel")
    QTest.keyClick(field, Qt.Key.Key_Return)
    wait_until(lambda: station.task == "fold the towel", "the task arrived")
    wait_until(lambda: field.text() == "fold the towel" and not field.hasFocus(), "shown, and the keys are free")


@pytest.mark.parametrize(("phase", "recording"), SITUATIONS)
def test_a_shared_key_always_means_one_thing(phase: str, *, recording: bool) -> None:
    now = status(phase, recording=recording)
    for key in {action.shortcut for action in TABLE} | {action.also for action in TABLE if action.also}:
        holders = [a for a in TABLE if a.also == key or (a.shortcut == key and a.when(now))]
        assert len(holders) <= 1, f"{key} means {[a.key for a in holders]}"


def test_giving_a_takeover_up_has_a_key_of_its_own_and_shows_it(station: FakeStation, window: MainWindow) -> None:
    release = next(action for action in ACTIONS if action.key == "release")
    assert key_now(release, status("align")) == "Backspace"
    station.update(phase="align")
    wait_until(window.action_bar.buttons["release"].isEnabled, "release is possible")
    assert window.action_bar.buttons["release"].key_shown == "Backspace"
    press(window, "Backspace")
    wait_until(lambda: station.verbs() == [Verb.RELEASE], "the release arrived")


def test_what_is_neither_allowed_nor_denied_is_impossible() -> None:
    record = ACTIONS[0]
    assert refusal(record, status("hold"))
    assert refusal(record, None)
    assert not refusal(record, status("hold", allowed=(Verb.RECORD,)))


def test_reasons_beyond_nine_have_no_key() -> None:
    actions = reason_actions(f"reason_{i}" for i in range(12))
    assert [action.shortcut for action in actions] == list(REASON_KEYS)
    assert actions[0].text == "reason 0"
    assert actions[0].args == {"reason": "reason_0"}
