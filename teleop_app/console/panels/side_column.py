"""The right column: what matters now on top (handover, reason or episodes), joints and tactile below.

The top place has one fixed size, so that a takeover moves nothing else on the screen.
"""

from PyQt6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from teleop_app.console.panels.episodes import EpisodesPanel
from teleop_app.console.panels.handover import HandoverPanel
from teleop_app.console.panels.joints import JointPlot
from teleop_app.console.panels.reasons import ReasonPanel
from teleop_app.console.panels.tactile import TactilePanel
from teleop_app.console.situation import Situation
from teleop_app.console.theme import GRID, Palette
from teleop_app.station.messages import StationStatus


class SideColumn(QWidget):
    """Four panels in three places."""

    def __init__(self, palette: Palette) -> None:
        """Build them, showing the episodes."""
        super().__init__()
        self.setFixedWidth(42 * GRID)
        self.handover, self.reasons = HandoverPanel(palette), ReasonPanel()
        self.episodes = EpisodesPanel(palette)
        self.joints, self.tactile = JointPlot(palette), TactilePanel(palette)
        self.top = QStackedWidget()
        self._pinned = False
        for panel in (self.episodes, self.handover, self.reasons):
            self.top.addWidget(panel)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(GRID)
        rows.addWidget(self.top, 4)
        rows.addWidget(self.joints, 3)
        rows.addWidget(self.tactile)

    def _show_handover(self, status: StationStatus) -> None:
        """Errors on the way to the operator; on the way back the reasons stay in reach."""
        if status.handover is not None and status.handover.errors:
            self.top.setCurrentWidget(self.handover)
            self._pinned = False
            self.reasons.show_chosen("")

    def pin_reasons(self) -> None:
        """Show the reasons although the operator does not command, or the episodes again."""
        self._pinned = not self._pinned

    def show_situation(self, situation: Situation) -> None:
        """Choose what stands on top, and pass the situation on."""
        status = situation.status
        if status is not None and situation.live and situation.look.stripes:
            self._show_handover(status)
        elif situation.live and self.reasons.buttons and (self._pinned or situation.look.word == "OPERATOR"):
            self.top.setCurrentWidget(self.reasons)
        else:
            self.top.setCurrentWidget(self.episodes)
        self.handover.show_situation(situation)
        self.tactile.show_situation(situation)
