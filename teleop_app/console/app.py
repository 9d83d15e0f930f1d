"""Starts the console: one QApplication, one window, one way to say what went wrong."""

import os
import signal
import sys
import threading
from pathlib import Path

from PyQt6.QtCore import QByteArray, QTimer
from PyQt6.QtWidgets import QApplication

from teleop_app.console.last_words import LastWords
from teleop_app.console.main_window import MainWindow
from teleop_app.console.photographer import Photographer
from teleop_app.console.settings import ConsoleSettings, load_settings, save_settings, settings_path
from teleop_app.console.station_bridge import StationBridge
from teleop_app.console.stream_health import Level
from teleop_app.console.theme import ThemeName, apply_theme
from teleop_app.station.errors import StationError

DEFAULT_SIZE = (1440, 900)
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")


def run_console(
    endpoint: str,
    *,
    theme: ThemeName = "dark",
    screenshot: Path | None = None,
    quit_after_s: float | None = None,
    owns_station: bool = False,
    size: tuple[int, int] | None = None,
) -> int:
    """Show the console until it is closed.

    Args:
        endpoint: The station's request socket, for example tcp://127.0.0.1:47801.
        theme: dark or light.
        screenshot: Save the window there once every camera and the data have arrived, at the latest when it closes.
        quit_after_s: Close after so long [s].
        owns_station: Closing the window shuts the station down; for a station that was started with the console.
        size: Of the window, not remembered [px]; by default what it was last time.

    Returns:
        0, or 1 if the screenshot could not be saved.

    Raises:
        StationError: there is no display, or `endpoint` is not an address.
    """
    _need_display()
    running = QApplication.instance()
    app = running if isinstance(running, QApplication) else QApplication(sys.argv[:1])
    app.setApplicationName("teleop")
    bridge = StationBridge(endpoint)
    bridge.start()
    path = settings_path()
    settings, problem = load_settings(path)
    window = MainWindow(bridge, apply_theme(app, theme), owns_station=owns_station)
    _restore(window, settings, size)
    if size is None:
        window.closing.connect(lambda: save_settings(path, _remembered(window)))
    if problem:
        window.log.say(problem, Level.AMBER)
    photographer = Photographer(window, screenshot) if screenshot else None
    if quit_after_s is not None:
        leave = QTimer(window)
        leave.setSingleShot(True)
        leave.timeout.connect(window.close)
        leave.start(round(quit_after_s * 1000))
    with LastWords(window.internal_error):
        _close_on_interrupt(window)
        window.show()
        app.exec()
    return 0 if photographer is None or photographer.saved else 1


def _need_display() -> None:
    """Say so in one sentence where Qt would abort the process."""
    if sys.platform == "linux" and not any(os.environ.get(name) for name in _DISPLAYS):
        raise StationError(
            f"There is no display for the console: none of {', '.join(_DISPLAYS)} is set. "
            "Start it on a desktop and connect it to this station."
        )


def _restore(window: MainWindow, settings: ConsoleSettings, size: tuple[int, int] | None) -> None:
    known = QByteArray.fromBase64(settings.geometry.encode())
    if size is not None or known.isEmpty() or not window.restoreGeometry(known):
        window.resize(*(size or DEFAULT_SIZE))
    window.preferred_camera = settings.largest_camera


def _remembered(window: MainWindow) -> ConsoleSettings:
    return ConsoleSettings(
        geometry=window.saveGeometry().toBase64().data().decode(),
        largest_camera=next(iter(window.grid.tiles), window.preferred_camera),
    )


def _close_on_interrupt(window: MainWindow) -> None:
    """Ctrl-C in the terminal closes the window like its own button.

    Python runs the handler at the window's next tick, perhaps in the middle of painting, so it only asks for it.
    """
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, lambda *_: QTimer.singleShot(0, window.close))
        window.closing.connect(lambda: signal.signal(signal.SIGINT, before))
