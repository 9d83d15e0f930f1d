"""A window on a fake station over real ZeroMQ, without a display; nothing may be left behind."""

import os
import threading
from collections.abc import Callable, Iterator

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import pytest
from PyQt6.QtCore import QCoreApplication, QEvent
from PyQt6.QtWidgets import QApplication

from teleop_app.console.main_window import MainWindow
from teleop_app.console.station_bridge import StationBridge
from teleop_app.console.theme import apply_theme
from tests.fakes.hands import wait_until
from tests.fakes.station import FakeStation

OpenWindow = Callable[..., MainWindow]


@pytest.fixture
def station() -> Iterator[FakeStation]:
    with FakeStation(cameras=("front", "wrist"), size=(60, 80)) as fake:
        yield fake


@pytest.fixture
def open_window(qapp: QApplication) -> Iterator[OpenWindow]:
    """Open windows that are closed at the end; threads and windows that survive that fail the test."""
    before = set(threading.enumerate())
    windows: list[MainWindow] = []

    def open_(endpoint: str, **options: bool) -> MainWindow:
        window = MainWindow(StationBridge(endpoint), apply_theme(qapp, "dark"), **options)
        window.resize(1366, 768)
        window.show()
        windows.append(window)
        window.closing.connect(lambda: windows.remove(window))
        return window

    yield open_
    for window in windows:
        window.owns_station = False
        window.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    left = [t for t in threading.enumerate() if t not in before and t.name == "station-bridge"]
    assert not left, f"threads left behind: {left}"
    assert not qapp.topLevelWidgets(), f"windows left behind: {qapp.topLevelWidgets()}"


@pytest.fixture
def window(station: FakeStation, open_window: OpenWindow) -> MainWindow:
    """A window that has heard the station and knows what it may do."""
    window = open_window(station.endpoint)
    wait_until(lambda: window.situation.live and bool(window.side.reasons.buttons), "the station is heard")
    return window
