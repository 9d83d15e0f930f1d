"""Why the operator took over: one press of 1 to 9 while intervening."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QPushButton

from teleop_app.console.actions import Action
from teleop_app.console.panels.labels import Panel, small


class ReasonButton(QPushButton):
    """One reason with its key."""

    triggered = pyqtSignal(object)

    def __init__(self, action: Action) -> None:
        """Show `action`."""
        super().__init__(f"{action.shortcut}    {action.text}")
        self._action = action
        self.setObjectName("reason")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.clicked.connect(self._tell)

    def _tell(self) -> None:
        self.triggered.emit(self._action)


class ReasonPanel(Panel):
    """The reasons with their keys."""

    triggered = pyqtSignal(object)
    """The `Action` that was clicked."""

    def __init__(self) -> None:
        """Begin without reasons."""
        super().__init__("Reason of this intervention")
        self.chosen = small("none yet")
        self.head.addWidget(self.chosen)
        self.buttons: dict[str, QPushButton] = {}
        self.rows.addStretch(1)

    def set_actions(self, actions: tuple[Action, ...]) -> None:
        """Have one line for each reason."""
        for button in self.buttons.values():
            button.deleteLater()
        self.buttons = {}
        for place, action in enumerate(actions):
            button = ReasonButton(action)
            button.triggered.connect(self.triggered)
            self.rows.insertWidget(1 + place, button)
            self.buttons[action.key] = button

    def show_chosen(self, reason: str) -> None:
        """Say which one the station has taken; empty at the start of an intervention."""
        self.chosen.setText(reason or "none yet")
