"""Cameras as large as they can be, and the event log in whatever height they leave."""

from PyQt6.QtGui import QResizeEvent
from PyQt6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

from teleop_app.console.panels.camera_grid import CameraGrid
from teleop_app.console.panels.event_log import EventLog
from teleop_app.console.theme import GRID


class LeftColumn(QWidget):
    """The grid gets its ideal height first."""

    def __init__(self, grid: CameraGrid, log: EventLog) -> None:
        """Put `grid` over `log`."""
        super().__init__()
        self._grid, self._log = grid, log
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(GRID // 2)
        rows.addWidget(grid, 100)
        rows.addWidget(log, 1)
        grid.cameras_changed.connect(self._limit)

    def _limit(self) -> None:
        room = self.height() - self._log.minimumHeight() - GRID // 2
        self._grid.setMaximumHeight(max(self._grid.minimumHeight(), self._grid.ideal_height(self.width(), room)))

    @override
    def resizeEvent(self, event: QResizeEvent | None) -> None:
        self._limit()
