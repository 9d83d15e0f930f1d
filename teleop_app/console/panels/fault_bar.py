"""What is wrong: what happened, what the arm does, what to do. Not there while nothing is wrong."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QLabel

from teleop_app.console.situation import Situation
from teleop_app.console.stream_health import Level, judge
from teleop_app.console.theme import GRID

_SHOWN = 3


class FaultBar(QFrame):
    """Latched faults, faults of streams, and a station that cannot be heard."""

    def __init__(self) -> None:
        """Begin hidden."""
        super().__init__()
        self.setObjectName("fault")
        sign = QLabel("▲")
        sign.setObjectName("sign")
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        row.setSpacing(2 * GRID)
        row.addWidget(sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.text, 1)
        self.hide()

    def show_situation(self, situation: Situation) -> None:
        """Show every fault, the first ones in full."""
        faults = sentences(situation)
        more = len(faults) - _SHOWN
        shown = faults[:_SHOWN] + ([f"And {more} more."] if more > 0 else [])
        self.text.setText("\n".join(shown))
        self.text.setToolTip("\n".join(faults))
        self.setVisible(bool(faults))


def sentences(situation: Situation) -> list[str]:
    """All faults, the most pressing first, none twice."""
    faults = [situation.link.sentence()]
    if situation.status is not None and situation.live:
        faults += situation.status.faults
        told = " ".join(situation.status.faults)
        verdicts = [judge(stream) for stream in situation.status.streams if stream.name not in told]
        faults += [verdict.sentence for verdict in verdicts if verdict.level is Level.RED]
    return list(dict.fromkeys(fault for fault in faults if fault))
