"""The last line: every action with its key cap, STOP (software) always at the right end."""

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QWidget

from teleop_app.console.actions import ACTIONS, Emphasis, in_slot, key_now, refusal, tooltip
from teleop_app.console.panels.action_button import ActionButton
from teleop_app.console.situation import Situation
from teleop_app.console.theme import GRID, Palette

_STRETCH = {Emphasis.NORMAL: 2, Emphasis.MAIN: 4, Emphasis.STOP: 3}


class ActionBar(QWidget):
    """One button for each slot of the table."""

    triggered = pyqtSignal(object)
    """The `Action` that was clicked."""

    def __init__(self, palette: Palette) -> None:
        """Make the buttons from the table."""
        super().__init__()
        self.buttons: dict[str, ActionButton] = {}
        self._seen: object = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GRID)
        for action in ACTIONS:
            if action.slot in self.buttons:
                continue
            button = ActionButton(palette)
            button.triggered.connect(self.triggered)
            if action.emphasis is Emphasis.STOP:
                row.addSpacing(2 * GRID)
            row.addWidget(button, _STRETCH[action.emphasis])
            self.buttons[action.slot] = button

    def show_situation(self, situation: Situation) -> None:
        """Show which action each place has now, and dim what is impossible."""
        status = situation.status
        seen = (status.phase, status.recording, status.allowed, status.denied) if status is not None else None
        if (seen, situation.trouble) == self._seen:
            return
        self._seen = (seen, situation.trouble)
        for slot, button in self.buttons.items():
            action = in_slot(ACTIONS, slot, status)
            reason = refusal(action, status, situation.trouble)
            button.show_action(action, key_now(action, status), reason, tooltip(action, status, reason))
