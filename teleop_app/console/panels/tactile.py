"""Tactile pads as heat maps: brighter is more force, with the scale in figures."""

import numpy as np
from PyQt6.QtCore import QRect, Qt
from PyQt6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PyQt6.QtWidgets import QWidget
from typing_extensions import override

from teleop_app.console.panels.labels import Panel, small
from teleop_app.console.situation import Situation
from teleop_app.console.theme import GRID, SMALL, Palette, typeface

_SCALES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0)


class TactilePanel(Panel):
    """All pads side by side; hidden while there are none."""

    def __init__(self, palette: Palette) -> None:
        """Begin without pads."""
        super().__init__("Tactile")
        self.scale_n = _SCALES[0]
        """Force of the brightest cell [N]; grows with what was felt and never shrinks."""
        self._scale_label = small()
        self.head.addWidget(self._scale_label)
        self.maps = _HeatMaps(palette)
        self.rows.addWidget(self.maps)
        self.hide()

    def show_situation(self, situation: Situation) -> None:
        """Show the newest forces."""
        pads = situation.status.tactile if situation.status is not None else {}
        self.setVisible(bool(pads))
        if not pads:
            return
        felt = max((force for pad in pads.values() for row in pad for force in row), default=0.0)
        self.scale_n = next((scale for scale in _SCALES if scale >= max(felt, self.scale_n)), _SCALES[-1])
        self._scale_label.setText(f"0 to {self.scale_n:g} N")
        self.maps.show_pads(pads, self.scale_n)


class _HeatMaps(QWidget):
    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        self._pads: dict[str, list[list[float]]] = {}
        self._scale_n = 1.0
        ground, ink = QColor(palette.inset), QColor(palette.text)
        self._colours = [_between(ground, ink, i / 255).rgb() for i in range(256)]
        self.setFixedHeight(8 * GRID)

    def show_pads(self, pads: dict[str, list[list[float]]], scale_n: float) -> None:
        if (pads, scale_n) != (self._pads, self._scale_n):
            self._pads, self._scale_n = pads, scale_n
            self.update()

    @override
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setFont(typeface(SMALL))
        width = self.width() // max(len(self._pads), 1)
        for place, (name, rows) in enumerate(self._pads.items()):
            self._paint_pad(painter, QRect(place * width, 0, width - GRID, self.height()), name, rows)
        painter.end()

    def _paint_pad(self, painter: QPainter, box: QRect, name: str, rows: list[list[float]]) -> None:
        side = min(box.height(), box.width() // 2)
        square = QRect(box.x(), box.y(), side, side)
        text = QRect(square.right() + GRID, box.y(), box.width() - side - GRID, box.height())
        largest = max((force for row in rows for force in row), default=0.0)
        painter.setPen(QColor(self._palette.quiet))
        shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, text.width())
        painter.drawText(text, Qt.AlignmentFlag.AlignTop, shown)
        painter.setPen(QColor(self._palette.text))
        painter.drawText(text.adjusted(0, 2 * GRID, 0, 0), Qt.AlignmentFlag.AlignTop, f"{largest:.2f} N")
        if not rows or len({len(row) for row in rows}) != 1 or not rows[0]:
            painter.drawText(square, Qt.AlignmentFlag.AlignCenter, "?")
            return
        forces = np.nan_to_num(np.array(rows)) / self._scale_n
        levels = np.ascontiguousarray((np.clip(forces, 0, 1) * 255).astype(np.uint8))
        height, columns = levels.shape
        image = QImage(levels.tobytes(), columns, height, columns, QImage.Format.Format_Indexed8)
        image.setColorTable(self._colours)
        painter.drawImage(square, image)


def _between(ground: QColor, ink: QColor, share: float) -> QColor:
    parts = zip(ground.getRgb()[:3], ink.getRgb()[:3], strict=True)
    return QColor(*(round((a or 0) + ((b or 0) - (a or 0)) * share) for a, b in parts))
