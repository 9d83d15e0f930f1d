"""An operator's hands for tests of the console: press a key, wait for what must follow."""

import time
from collections.abc import Callable

from PyQt6.QtGui import QKeySequence, QWindow
from PyQt6.QtTest import QTest
from PyQt6.QtWidgets import QWidget

WITHIN_MS = 5000


def wait_until(condition: Callable[[], bool], what: str, within_ms: int = WITHIN_MS) -> None:
    """Run Qt's events until `condition` holds."""
    deadline = time.perf_counter() + within_ms / 1000
    while not condition():
        assert time.perf_counter() < deadline, f"not within {within_ms} ms: {what}"
        QTest.qWait(5)


def handle(window: QWidget) -> QWindow:
    found = window.windowHandle()
    assert found is not None
    return found


def press(window: QWidget, key: str) -> None:
    """Press and let go of a key as the window system would, whatever has the focus."""
    combination = QKeySequence(key)[0]
    QTest.keyClick(handle(window), combination.key(), combination.keyboardModifiers())
