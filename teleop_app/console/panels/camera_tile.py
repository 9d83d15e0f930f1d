"""One camera: the newest picture, its name and rate, and in words when it is old."""

from PyQt6.QtCore import QElapsedTimer, QRect, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent
from PyQt6.QtWidgets import QWidget
from typing_extensions import override

from teleop_app.console.inbox import Preview, Reading
from teleop_app.console.pictures import fit
from teleop_app.console.stream_health import age_text
from teleop_app.console.theme import BODY, GRID, SMALL, Palette, typeface

STALE_AFTER_S = 0.5
"""Age of a picture that is dimmed [s]."""
_RATE_OVER_S = 1.0


class CameraTile(QWidget):
    """Paints pictures with QPainter, the cheapest way (less than half of pyqtgraph's)."""

    chosen = pyqtSignal(str)
    """Clicked: the operator wants it large."""

    def __init__(self, camera: str, palette: Palette) -> None:
        """Wait for the first picture of `camera`."""
        super().__init__()
        self.camera, self._palette = camera, palette
        self.preview: Preview | None = None
        self.age_s: float | None = None
        """Age of the picture when last looked at [s]; None before the first."""
        self.shown_hz = 0.0
        """Pictures painted in the last second."""
        self.painted = 0
        self._fresh, self._painted_before, self._alarm = False, 0, False
        self._since = QElapsedTimer()
        self._since.start()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(f"camera {camera}")
        self.setToolTip(f"{camera}: click to make it the largest.")
        self.setMinimumSize(12 * GRID, 9 * GRID)

    @property
    def stale(self) -> bool:
        """Whether the picture is dimmed."""
        return self.age_s is not None and self.age_s > STALE_AFTER_S

    def show_preview(self, preview: Preview) -> None:
        """Paint it at the next opportunity."""
        self.preview, self._fresh = preview, True
        self.update(self.picture_rect() if not self.stale and self.age_s is not None else self.rect())

    def show_age(self, reading: Reading | None, *, live: bool) -> None:
        """Find out how old the picture is, on the station's own clock; `live` says that the station is heard."""
        was = self.overlay()
        self._alarm = live
        if reading is not None and self.preview is not None:
            self.age_s = max(0.0, (reading.station_now_ns() - self.preview.header.stamp_ns) / 1e9)
        if (elapsed_s := self._since.nsecsElapsed() / 1e9) >= _RATE_OVER_S:
            self.shown_hz, self._painted_before = (self.painted - self._painted_before) / elapsed_s, self.painted
            self._since.start()
        if self.overlay() != was:
            self.update()

    def overlay(self) -> str:
        """What is written across the picture; empty while it is fresh."""
        if self.preview is None:
            return "waiting for the first picture"
        return f"no new picture for {age_text(self.age_s or 0.0)}" if self.stale else ""

    def picture_rect(self) -> QRect:
        """Where the picture lies, as large as its shape allows."""
        if self.preview is None:
            return self.rect()
        header = self.preview.header
        height, width = fit((header.height, header.width), (self.height(), self.width()))
        return QRect((self.width() - width) // 2, (self.height() - height) // 2, width, height)

    @override
    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        self.chosen.emit(self.camera)

    @override
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        where = self.picture_rect()
        if self.preview is None or where != self.rect():
            painter.fillRect(self.rect(), QColor(self._palette.inset))
        if self.preview is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(where, self.preview.image)
            self.painted, self._fresh = self.painted + self._fresh, False
        if self.stale:
            veil = QColor(self._palette.inset)
            veil.setAlpha(170)
            painter.fillRect(where, veil)
        if text := self.overlay():
            self._paint_overlay(painter, where, text)
        rate = f"  {self.shown_hz:.1f}" if self.preview is not None and not self.stale else ""
        self._plate(painter, where.x() + GRID, where.y() + GRID, f"{self.camera}{rate}", SMALL)
        painter.end()

    def _paint_overlay(self, painter: QPainter, where: QRect, text: str) -> None:
        metrics = QFontMetrics(typeface(BODY, bold=True))
        width, height = metrics.horizontalAdvance(text), metrics.height()
        x, y = where.center().x() - width // 2 - GRID, where.center().y() - height // 2
        self._plate(painter, x, y, text, BODY, alarm=self._alarm and self.preview is not None)

    def _plate(self, painter: QPainter, x: int, y: int, text: str, size: int, *, alarm: bool = False) -> None:
        """Text on a dark plate, legible on any picture in either theme."""
        font = typeface(size, bold=size == BODY)
        metrics = QFontMetrics(font)
        box = QRectF(x, y, metrics.horizontalAdvance(text) + 2 * GRID, metrics.height() + GRID // 2)
        painter.setFont(font)
        painter.fillRect(box, QColor(self._palette.stopped) if alarm else QColor(14, 16, 18, 170))
        painter.setPen(QColor("#ffffff"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
