"""Keys to actions. Sees a key before any widget does: no focus, list or open menu keeps STOP from working."""

from PyQt6.QtCore import QElapsedTimer, QEvent, QKeyCombination, QObject, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QKeySequence
from PyQt6.QtWidgets import QApplication, QLineEdit
from typing_extensions import override

STOP_KEY = "Esc"
DEBOUNCE_MS = 50
"""A press so soon after the same key's release is a bouncing contact, or a held key that X11 repeats without saying so
(seen with xcb: holding a key for 1.5 s came as eleven presses that were not marked as repeats)."""


class Keyboard(QObject):
    """An event filter for the main window's QWindow."""

    pressed = pyqtSignal(str)
    """A known key in Qt's portable form; once for each press, however long it is held."""

    def __init__(self, keys: frozenset[str], parent: QObject | None = None) -> None:
        """Listen for `keys`."""
        super().__init__(parent)
        self.keys = keys
        self._released: dict[str, QElapsedTimer] = {}

    @override
    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() not in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            return False
        key = key_name(event)
        if key not in self.keys or (typing() and key != STOP_KEY):
            return False
        since_release = self._released.setdefault(key, QElapsedTimer())
        if event.type() == QEvent.Type.KeyRelease:
            since_release.start()
        elif not event.isAutoRepeat() and not (since_release.isValid() and since_release.elapsed() < DEBOUNCE_MS):
            self.pressed.emit(key)
        return True


def key_name(event: QKeyEvent) -> str:
    """The key in Qt's portable form, the same for the keypad and for capital letters; empty for an unknown one."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if modifiers == Qt.KeyboardModifier.ShiftModifier:
        modifiers = Qt.KeyboardModifier.NoModifier
    try:
        key = Qt.Key(event.key())
    except ValueError:
        return ""
    return QKeySequence(QKeyCombination(modifiers, key)).toString(QKeySequence.SequenceFormat.PortableText)


def typing() -> bool:
    """Whether a text field has the keys."""
    return isinstance(QApplication.focusWidget(), QLineEdit)
