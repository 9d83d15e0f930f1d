"""Keys to actions. Sees a key before any widget does: no focus, list or open menu keeps STOP from working."""

from PyQt6.QtCore import QEvent, QKeyCombination, QObject, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QKeySequence
from PyQt6.QtWidgets import QApplication, QLineEdit
from typing_extensions import override

STOP_KEY = "Esc"


class Keyboard(QObject):
    """An event filter for the main window's QWindow."""

    pressed = pyqtSignal(str)
    """A known key in Qt's portable form; once for each press, however long it is held."""

    def __init__(self, keys: frozenset[str], parent: QObject | None = None) -> None:
        """Listen for `keys`."""
        super().__init__(parent)
        self.keys = keys

    @override
    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        key = key_name(event)
        if key not in self.keys or (typing() and key != STOP_KEY):
            return False
        if not event.isAutoRepeat():
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
