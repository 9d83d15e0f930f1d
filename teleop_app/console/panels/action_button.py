"""A button that carries its key cap."""

from PyQt6.QtCore import QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QPushButton, QSizePolicy
from typing_extensions import override

from teleop_app.console.actions import Action, Emphasis, cap
from teleop_app.console.theme import BODY, GRID, SMALL, Palette, typeface


class ActionButton(QPushButton):
    """Text and cap, painted so that both dim together; takes no focus, since Space is an action of its own."""

    triggered = pyqtSignal(object)
    """The `Action` that it shows; a signal of its own, since a lambda would keep the whole window in memory."""

    def __init__(self, palette: Palette) -> None:
        """Begin empty."""
        super().__init__()
        self._palette = palette
        self.action_shown: Action | None = None
        self.key_shown = ""
        self.reason = ""
        """Why it is dimmed; empty while it is not."""
        self.clicked.connect(self._tell)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(6 * GRID)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_action(self, action: Action, key: str, reason: str, tip: str) -> None:
        """Show `action` with `key`, dimmed if there is a `reason`."""
        if (action, key, reason) == (self.action_shown, self.key_shown, self.reason) and self.toolTip() == tip:
            return
        self.action_shown, self.key_shown, self.reason = action, key, reason
        self.setToolTip(tip)
        self.setEnabled(not reason)
        self.setAccessibleName(action.text)
        self.updateGeometry()
        self.update()

    def _tell(self) -> None:
        self.triggered.emit(self.action_shown)

    def _fonts(self) -> tuple[QFontMetrics, QFontMetrics]:
        bold = self.action_shown is not None and self.action_shown.emphasis is not Emphasis.NORMAL
        return QFontMetrics(typeface(BODY, bold=bold)), QFontMetrics(typeface(SMALL))

    @override
    def sizeHint(self) -> QSize:
        if self.action_shown is None:
            return QSize(8 * GRID, self.height())
        text, small = self._fonts()
        cap_width = small.horizontalAdvance(cap(self.key_shown)) + GRID + GRID // 2
        return QSize(text.horizontalAdvance(self.action_shown.text) + cap_width + 3 * GRID, self.height())

    @override
    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    @override
    def paintEvent(self, event: QPaintEvent | None) -> None:
        action = self.action_shown
        if action is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ground, line, ink = self._colours(action)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(QPen(line, 2 if action.emphasis is Emphasis.STOP else 1))
        painter.setBrush(ground)
        painter.drawRoundedRect(box, 4, 4)
        text, small = self._fonts()
        sign = cap(self.key_shown)
        words, keys = text.horizontalAdvance(action.text), small.horizontalAdvance(sign) + GRID + GRID // 2
        left = (self.width() - words - GRID - keys) / 2
        painter.setPen(ink)
        painter.setFont(typeface(BODY, bold=action.emphasis is not Emphasis.NORMAL))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(left, 0, words + GRID, self.height()), middle, action.text)
        plate = QRectF(left + words + GRID, (self.height() - 20) / 2, keys, 20)
        painter.setPen(QPen(ink if self.isEnabled() else line, 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(plate, 3, 3)
        painter.setPen(ink)
        painter.setFont(typeface(SMALL))
        painter.drawText(plate, Qt.AlignmentFlag.AlignCenter, sign)
        painter.end()

    def _colours(self, action: Action) -> tuple[QColor, QColor, QColor]:
        """Ground, outline, ink."""
        c = self._palette
        if action.emphasis is Emphasis.STOP:
            if self.isDown() or self.underMouse():
                return QColor(c.stopped), QColor(c.stopped), QColor(c.on_stopped)
            return QColor(c.panel), QColor(c.alarm), QColor(c.alarm)
        if not self.isEnabled():
            return QColor(c.window), QColor(c.line), QColor(c.faint)
        if self.isDown():
            return QColor(c.line), QColor(c.quiet), QColor(c.text)
        strong = action.emphasis is Emphasis.MAIN or self.underMouse()
        return QColor(c.panel), QColor(c.quiet if strong else c.line), QColor(c.text)
