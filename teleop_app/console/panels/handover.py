"""While control changes hands: how far each joint of the operator's device is from the arm, and which way to move."""

from dataclasses import dataclass

from PyQt6.QtCore import QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPaintEvent
from PyQt6.QtWidgets import QWidget
from typing_extensions import override

from teleop_app.console.panels.labels import Panel
from teleop_app.console.situation import Situation
from teleop_app.console.theme import BODY, GRID, SMALL, Palette, typeface
from teleop_app.station.messages import HandoverStatus

FULL_SCALE_RAD = 0.4
"""A bar of full length [rad]."""
_ROW_MIN, _ROW_MAX = 22, 36
"""Height of a row [px]."""
_VALUE_WIDTH, _ADVICE_WIDTH = 72, 72
"""[px]."""


@dataclass(frozen=True, slots=True)
class Row:
    """One joint."""

    name: str
    error: float
    """Device minus follower [rad]."""
    reached: bool

    @property
    def advice(self) -> str:
        """Which way the device must go."""
        if self.reached:
            return "✓"
        return "◀ move" if self.error > 0 else "move ▶"


def rows_of(handover: HandoverStatus, names: tuple[str, ...], room: int) -> list[Row]:
    """One row for each joint, or for the `room` worst ones, always in the joints' own order."""
    rows = [
        Row(names[i] if i < len(names) else f"joint {i}", error, abs(error) <= handover.tolerance)
        for i, error in enumerate(handover.errors)
    ]
    worst = sorted(rows, key=lambda row: -abs(row.error))[:room]
    return [row for row in rows if row in worst]


class HandoverPanel(Panel):
    """Progress and errors."""

    def __init__(self, palette: Palette) -> None:
        """Begin without a handover."""
        super().__init__("Handover: bring your device to the arm")
        self.bars = _Bars(palette)
        self.rows.addWidget(self.bars, 1)

    def show_situation(self, situation: Situation) -> None:
        """Show the errors while there is a handover."""
        status = situation.status
        if status is None or status.handover is None:
            return
        self.title.setText("Handover: aligned" if status.handover.ready else "Handover: bring your device to the arm")
        room = max(1, self.bars.height() // _ROW_MIN)
        self.bars.show_rows(rows_of(status.handover, status.joints.names, room))


class _Bars(QWidget):
    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._rows: list[Row] = []
        self.setMinimumHeight(6 * _ROW_MIN)

    def show_rows(self, rows: list[Row]) -> None:
        if rows != self._rows:
            self._rows = rows
            self.setAccessibleDescription("; ".join(f"{r.name} {r.error:+.2f} rad {r.advice}" for r in rows))
            self.update()

    @override
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        tall = min(_ROW_MAX, self.height() // max(len(self._rows), 1))
        painter.setFont(typeface(BODY if tall > _ROW_MIN + 2 else SMALL))
        metrics = painter.fontMetrics()
        names = max((metrics.horizontalAdvance(row.name) for row in self._rows), default=0)
        names = min(names, self.width() // 3) + GRID
        for place, row in enumerate(self._rows):
            self._paint_row(painter, row, QRectF(0, place * tall, self.width(), tall), names)
        painter.end()

    def _paint_row(self, painter: QPainter, row: Row, box: QRectF, x: int) -> None:
        colours = self._palette
        middle = Qt.AlignmentFlag.AlignVCenter
        name = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, x - GRID)
        painter.setPen(QColor(colours.quiet if row.reached else colours.text))
        y, tall = box.y(), box.height()
        painter.drawText(QRectF(0, y, x, tall), middle | Qt.AlignmentFlag.AlignLeft, name)
        bar = QRectF(x, y + tall / 2 - 4, max(box.width() - x - _VALUE_WIDTH - _ADVICE_WIDTH, 0), 8)
        painter.fillRect(bar, QColor(colours.inset))
        share = min(abs(row.error) / FULL_SCALE_RAD, 1.0)
        filled = QRectF(bar.x(), bar.y(), bar.width() * share, bar.height())
        painter.fillRect(filled, QColor(colours.quiet if row.reached else colours.text))
        value = QRectF(bar.right(), y, _VALUE_WIDTH, tall)
        painter.drawText(value, middle | Qt.AlignmentFlag.AlignRight, f"{abs(row.error):.2f} rad")
        advice = QRectF(value.right() + GRID, y, _ADVICE_WIDTH - GRID, tall)
        painter.drawText(advice, middle | Qt.AlignmentFlag.AlignLeft, row.advice)
