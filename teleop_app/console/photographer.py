"""Saves a picture of the window once there is something to see."""

import logging
from pathlib import Path

from PyQt6.QtCore import QObject, QTimer

from teleop_app.console.main_window import MainWindow

logger = logging.getLogger(__name__)

SETTLE_MS = 1500
"""After the first of everything: plots and rates need something to show."""


class Photographer(QObject):
    """Waits for a picture of every camera and for a status; at the latest when the window closes."""

    def __init__(self, window: MainWindow, path: Path) -> None:
        """Save to `path`."""
        super().__init__()
        self._window, self._path = window, path
        self.saved = False
        self._settle = QTimer(window)
        self._settle.setSingleShot(True)
        self._settle.timeout.connect(self._save)
        window.looked.connect(self._check)
        window.closing.connect(self._save)

    def _check(self) -> None:
        tiles = self._window.grid.tiles.values()
        complete = self._window.situation.live and bool(tiles) and all(tile.preview is not None for tile in tiles)
        if complete and not self.saved and not self._settle.isActive():
            self._settle.start(SETTLE_MS)

    def _save(self) -> None:
        if self.saved:
            return
        self.saved = self._window.grab().save(str(self._path), "PNG")
        if not self.saved:
            logger.error("the screenshot could not be saved as %s", self._path)
