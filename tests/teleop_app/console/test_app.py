"""Starting, closing and what is left: run_console as a process, settings, leaks."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from PyQt6.QtCore import QCoreApplication, QEvent, QTimer
from PyQt6.QtGui import QImage
from PyQt6.QtWidgets import QApplication

from teleop_app.console.last_words import LastWords
from teleop_app.console.main_window import MainWindow
from teleop_app.console.settings import ConsoleSettings, load_settings, save_settings
from teleop_app.console.station_bridge import StationBridge
from teleop_app.console.theme import apply_theme
from teleop_app.station.messages import Verb
from tests.fakes.hands import wait_until
from tests.fakes.station import FakeStation

RUN = """
import json, sys
from pathlib import Path
from teleop_app.console.app import run_console
options = json.loads(sys.argv[2])
if "screenshot" in options:
    options["screenshot"] = Path(options["screenshot"])
sys.exit(run_console(sys.argv[1], **options))
"""


def console_process(endpoint: str, config: Path, options: str, **environment: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", RUN, endpoint, options],
        env=os.environ | {"XDG_CONFIG_HOME": str(config), "QT_QPA_PLATFORM": "offscreen"} | environment,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_screenshot_of_everything(station: FakeStation, tmp_path: Path, theme: str) -> None:
    shot = tmp_path / "console.png"
    options = f'{{"theme": "{theme}", "screenshot": "{shot}", "quit_after_s": 3, "size": [1366, 768]}}'
    process = console_process(station.endpoint, tmp_path, options)
    _, errors = process.communicate(timeout=40)
    assert (process.returncode, errors) == (0, "")
    image = QImage(str(shot))
    assert (image.width(), image.height()) == (1366, 768)
    blue = image.pixelColor(200, 60)
    assert blue.blue() > 150 > blue.red()
    assert Verb.SHUTDOWN not in station.verbs()


@pytest.mark.slow
def test_a_console_that_owns_the_station_shuts_it_down(station: FakeStation, tmp_path: Path) -> None:
    process = console_process(station.endpoint, tmp_path, '{"owns_station": true}')
    wait_until(lambda: any(r.verb is Verb.EPISODES for r in station.requests), "connected", 30_000)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")
    assert station.verbs() == [Verb.SHUTDOWN]
    assert ConsoleSettings.model_validate_json((tmp_path / "teleop" / "console.json").read_text()).geometry


@pytest.mark.slow
def test_killing_the_console_asks_the_station_nothing(station: FakeStation, tmp_path: Path) -> None:
    process = console_process(station.endpoint, tmp_path, '{"owns_station": true}')
    wait_until(lambda: any(r.verb is Verb.EPISODES for r in station.requests), "connected", 30_000)
    process.kill()
    process.communicate(timeout=20)
    assert station.verbs() == []


def test_the_end_of_its_own_station_closes_the_window(station: FakeStation, window: MainWindow) -> None:
    """A station that shuts down may be gone before its answer is."""
    window.owns_station = True
    station.mute = {Verb.SHUTDOWN}
    gone: list[bool] = []
    window.closing.connect(lambda: gone.append(True))
    window.close()
    wait_until(lambda: Verb.SHUTDOWN in station.verbs(), "asked")
    station.silent.set()
    wait_until(lambda: bool(gone), "closed", 3000)


def alive(*kinds: type) -> int:
    """Python objects of these kinds; a window in a reference cycle through Qt is never collected."""
    return sum(isinstance(found, kinds) for found in gc.get_objects())


@pytest.mark.slow
def test_opening_and_closing_leaves_nothing(station: FakeStation, qapp: QApplication) -> None:
    palette = apply_theme(qapp, "dark")
    counts = []
    for _ in range(20):
        window = MainWindow(StationBridge(station.endpoint), palette)
        window.show()
        wait_until(lambda window=window: window.situation.live and bool(window.grid.tiles), "live")
        window.close()
        del window
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        assert qapp.topLevelWidgets() == []
        assert [t.name for t in threading.enumerate() if t.name == "station-bridge"] == []
        assert alive(MainWindow, QTimer, StationBridge) == 0
        counts.append((len(qapp.allWidgets()), threading.active_count()))
    assert set(counts[1:]) == {counts[1]}
    assert counts[-1][0] == 0


def test_settings_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "console.json"
    assert load_settings(path) == (ConsoleSettings(), "")
    wanted = ConsoleSettings(largest_camera="wrist")
    save_settings(path, wanted)
    assert load_settings(path) == (wanted, "")


@pytest.mark.parametrize("text", ["", "{", '{"version": 9}', '{"version": 1, "joint": 3}', "\x00\x01"])
def test_broken_settings_are_put_aside_and_said(tmp_path: Path, text: str) -> None:
    path = tmp_path / "console.json"
    path.write_text(text)
    settings, problem = load_settings(path)
    assert settings == ConsoleSettings()
    assert "defaults" in problem
    assert (tmp_path / "console.broken.json").read_text() == text


def test_settings_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    path = tmp_path / "console.json"
    path.mkdir()
    settings, problem = load_settings(path)
    assert settings == ConsoleSettings()
    assert "cannot be read" in problem
    save_settings(path, ConsoleSettings())


def test_an_error_that_nobody_caught_is_shown_wherever_it_happens(window: MainWindow) -> None:
    with LastWords(window.internal_error):
        sys.excepthook(RuntimeError, RuntimeError("first"), None)
        thread = threading.Thread(target=lambda: {}["nothing"])
        thread.start()
        thread.join()
        wait_until(lambda: any("KeyError" in line for line in window.log.lines), "said")
    assert any("first" in line and "The station is not affected." in line for line in window.log.lines)


def test_no_display_is_one_sentence(tmp_path: Path) -> None:
    process = console_process("tcp://127.0.0.1:9", tmp_path, "{}", QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    _, errors = process.communicate(timeout=20)
    assert errors.strip().splitlines()[-1].startswith("teleop_app.station.errors.StationError: There is no display")


def test_the_command_line_loads_no_qt() -> None:
    code = "import sys, teleop_app.cli, drivers, recorder; sys.exit(any(m.startswith('PyQt6') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_first_picture_comes_soon(station: FakeStation, qapp: QApplication) -> None:
    palette, since = apply_theme(qapp, "dark"), time.perf_counter()
    window = MainWindow(StationBridge(station.endpoint), palette)
    window.show()
    wait_until(lambda: bool(window.grid.tiles) and all(t.painted for t in window.grid.tiles.values()), "pictures")
    assert time.perf_counter() - since < 2.0
    window.close()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
