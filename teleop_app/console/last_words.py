"""Errors that nobody caught, in any thread of the console: logged with their trace, shown as one sentence."""

import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType

from PyQt6.QtCore import QObject, pyqtSignal

logger = logging.getLogger(__name__)


class LastWords(QObject):
    """Takes both exception hooks while it is entered."""

    said = pyqtSignal(str)

    def __init__(self, show: Callable[[str], None]) -> None:
        """Show sentences with `show`, always in the window's own thread."""
        super().__init__()
        self.said.connect(show)

    def __enter__(self) -> "LastWords":
        """Take the hooks."""
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._caught
        threading.excepthook = lambda args: self._caught(args.exc_type, args.exc_value, args.exc_traceback)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        sys.excepthook, threading.excepthook = self._before

    def _caught(self, kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        logger.error("uncaught in the console", exc_info=(kind, error or kind(), trace))
        self.said.emit(
            f"The console made a mistake of its own ({kind.__name__}: {error}). The station is not affected."
        )
