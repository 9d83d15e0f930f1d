"""The one saturated thing: who commands the arm, and what to do next."""

from PyQt6.QtCore import QLineF, QRect, QRectF, QSize, Qt, QTimer
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QWidget
from typing_extensions import override

from teleop_app.console.actions import ACTIONS, cap, key_now, refusal
from teleop_app.console.looks import UNKNOWN, Look
from teleop_app.console.shapes import shape_path
from teleop_app.console.situation import Situation
from teleop_app.console.theme import BODY, GRID, LARGE, SMALL, Palette, typeface

_STRIPE = 4 * GRID
_BY_KEY = {action.key: action for action in ACTIONS}


class Banner(QWidget):
    """Colour, shape, word and sentence."""

    def __init__(self, palette: Palette) -> None:
        """Show that nothing is known yet."""
        super().__init__()
        self._palette = palette
        self.look: Look = UNKNOWN
        self.sentence, self.note = UNKNOWN.sentence, ""
        self._shift = 0
        self._mover = QTimer(self)
        self._mover.setInterval(50)
        self._mover.timeout.connect(self._move)
        self.setFixedHeight(7 * GRID)
        self.setAccessibleName("who commands the arm")

    def show_situation(self, situation: Situation) -> None:
        """Repaint if anything that is shown has changed."""
        look = situation.look
        sentence, note = next_step(look, situation), _note(situation)
        if (look, sentence, note) == (self.look, self.sentence, self.note):
            return
        self.look, self.sentence, self.note = look, sentence, note
        self.setAccessibleDescription(f"{look.word}: {sentence}")
        if look.stripes and not self._mover.isActive():
            self._mover.start()
        elif not look.stripes:
            self._mover.stop()
        self.update()

    def colours(self) -> tuple[QColor, QColor]:
        """Ground and text."""
        if not self.look.known:
            return QColor(self._palette.window), QColor(self._palette.text)
        tint = self.look.tint.value
        return QColor(getattr(self._palette, tint)), QColor(getattr(self._palette, f"on_{tint}"))

    def _move(self) -> None:
        self._shift = (self._shift + 2) % (2 * _STRIPE)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(80 * GRID, 7 * GRID)

    @override
    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground, ink = self.colours()
        self._paint_ground(painter, ground)
        side = 3 * GRID
        painter.fillPath(shape_path(self.look.shape, QRectF(2 * GRID, (self.height() - side) / 2, side, side)), ink)
        painter.setPen(ink)
        x = 6 * GRID + GRID // 2
        x += self._text(painter, x, self.look.word, LARGE, bold=True) + 3 * GRID
        note = QFontMetrics(typeface(SMALL)).horizontalAdvance(self.note)
        self._text(painter, x, self.sentence, BODY, room=self.width() - x - note - 4 * GRID)
        self._text(painter, self.width() - note - 2 * GRID, self.note, SMALL)
        painter.end()

    def _paint_ground(self, painter: QPainter, ground: QColor) -> None:
        painter.fillRect(self.rect(), ground)
        if not self.look.known:
            painter.setPen(QPen(QColor(self._palette.quiet), 2, Qt.PenStyle.DashLine))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        elif self.look.stripes:
            painter.setPen(QPen(ground.lighter(112), _STRIPE * 0.6, cap=Qt.PenCapStyle.FlatCap))
            height = self.height()
            for x in range(-2 * _STRIPE - height + self._shift, self.width() + height, 2 * _STRIPE):
                painter.drawLine(QLineF(x, height + GRID, x + height + 2 * GRID, -GRID))

    def _text(
        self, painter: QPainter, x: int, text: str, size: int, *, bold: bool = False, room: int | None = None
    ) -> int:
        """Write `text` at `x`; returns its width."""
        font = typeface(size, bold=bold)
        metrics = QFontMetrics(font)
        if room is not None:
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, max(room, 0))
        painter.setFont(font)
        width = metrics.horizontalAdvance(text)
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(QRect(x, 0, width + GRID, self.height()), flags, text)
        return width


def next_step(look: Look, situation: Situation) -> str:
    """The look's sentence, and the keys that are of use now."""
    parts = [look.sentence]
    status = situation.status
    for key, does in look.offers:
        action = _BY_KEY[key]
        if not refusal(action, status, situation.trouble):
            parts.append(f"{cap(key_now(action, status))} {does}")
    return " · ".join(parts)


def _note(situation: Situation) -> str:
    status = situation.status
    if status is None or not situation.live:
        return ""
    if status.mode == "passive":
        return "passive station: commands nothing"
    return f"tick {status.loop.rate_hz:.0f} Hz" if status.loop.rate_hz else ""
