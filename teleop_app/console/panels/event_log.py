"""What has just happened, in one sentence; what happened before, below it."""

from PyQt6.QtCore import Qt, QTime
from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QSizePolicy, QVBoxLayout
from typing_extensions import override

from teleop_app.console.panels.labels import set_level
from teleop_app.console.stream_health import Level
from teleop_app.console.theme import GRID

_KEEP = 200


class EventLog(QFrame):
    """The last message, and as many older ones as there is room for."""

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self.last = QLabel("")
        self.last.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.last.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.last.setFixedHeight(3 * GRID)
        self.older = QPlainTextEdit()
        self.older.setReadOnly(True)
        self.older.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.older.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.older.setMinimumHeight(0)
        self.older.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        if (document := self.older.document()) is not None:
            document.setDocumentMargin(0)
        self.lines: list[str] = []
        rows = QVBoxLayout(self)
        rows.setContentsMargins(GRID, 0, GRID, 0)
        rows.setSpacing(0)
        rows.addWidget(self.last)
        rows.addWidget(self.older, 1)
        self.setMinimumHeight(3 * GRID)

    def _show_last(self) -> None:
        line = self.lines[0] if self.lines else ""
        room = self.last.width()
        self.last.setText(self.last.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, room))
        self.last.setToolTip(line)

    @override
    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._show_last()

    def say(self, sentence: str, level: Level = Level.OK) -> None:
        """Add one sentence with the time of day, unless it is what was said last."""
        if self.lines and self.lines[0].endswith(f"  {sentence}"):
            return
        line = f"{QTime.currentTime().toString('HH:mm:ss')}  {sentence}"
        self.lines = [line, *self.lines[: _KEEP - 1]]
        set_level(self.last, level)
        self._show_last()
        self.older.setPlainText("\n".join(self.lines[1:]))
