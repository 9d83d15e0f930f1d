"""The first line: station, task, how many are done, disk left, and whether it records."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QFocusEvent
from PyQt6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QWidget
from typing_extensions import override

from teleop_app.console.panels.labels import beside, caption, set_level, set_property
from teleop_app.console.situation import Situation
from teleop_app.console.stream_health import judge_disk
from teleop_app.console.theme import GRID, Palette


class TaskField(QLineEdit):
    """A text field that says when it has the keys."""

    focused = pyqtSignal()

    @override
    def focusInEvent(self, event: QFocusEvent | None) -> None:
        super().focusInEvent(event)
        self.focused.emit()


class TopBar(QWidget):
    """Station, task, counter, disk, REC."""

    task_entered = pyqtSignal(str)
    """The operator wrote another task."""

    def __init__(self, palette: Palette) -> None:
        """Build the labels, empty."""
        super().__init__()
        del palette
        self.setFixedHeight(5 * GRID)
        self.station, self.counter, self.disk, self.recording = QLabel("—"), QLabel("—"), QLabel("—"), QLabel()
        self.recording.setObjectName("recording")
        self.recording.setMinimumWidth(15 * GRID)
        self.task = TaskField()
        self.task.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.task.setPlaceholderText("no task yet: click to write one")
        self.task.setToolTip("What the robot is to do. Click to change it, Enter to set it for the next episode.")
        self.task.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.task.returnPressed.connect(self._enter_task)
        self.task.editingFinished.connect(self._leave_task)
        self._task_of_station = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(3 * GRID)
        row.addLayout(beside(caption("Station"), self.station))
        task = beside(caption("Task"))
        task.addWidget(self.task, 1)
        row.addLayout(task, 1)
        row.addLayout(beside(caption("Done"), self.counter))
        row.addLayout(beside(caption("Disk"), self.disk))
        row.addWidget(self.recording)

    def show_situation(self, situation: Situation) -> None:
        """Show the newest status."""
        status = situation.status
        if status is None:
            self.recording.setText("○  not known")
            return
        self.station.setText(status.station)
        self.counter.setText(
            f"{status.episodes_done} / {status.episodes_wanted}"
            if status.episodes_wanted
            else f"{status.episodes_done}"
        )
        disk = judge_disk(status.disk_free_s)
        self.disk.setText(disk.text)
        self.disk.setToolTip(disk.sentence)
        set_level(self.disk, disk.level)
        self._show_task(status.task)
        known = situation.live
        text = f"●  REC {clock(status.recording_s)}" if status.recording else "○  not recording"
        self.recording.setText(text if known else "○  not known")
        set_property(self.recording, "on", "true" if status.recording and known else "false")

    def _show_task(self, task: str) -> None:
        self._task_of_station = task
        if not self.task.hasFocus() and self.task.text() != task:
            self.task.setText(task)
            self.task.setCursorPosition(0)

    def _enter_task(self) -> None:
        if (text := self.task.text().strip()) and text != self._task_of_station:
            self.task_entered.emit(text)
        self.task.clearFocus()

    def _leave_task(self) -> None:
        """Whatever is not confirmed with Enter goes back to what the station says, at its next status."""
        self.task.clearFocus()


def clock(seconds: float) -> str:
    """Minutes and seconds, hours when there are any."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes:02d}:{whole % 60:02d}"
