"""The window: composes the panels, hands them what arrives, and turns keys and clicks into requests."""

from PyQt6.QtCore import QElapsedTimer, Qt, QTimer, pyqtSignal
from PyQt6.QtGui import QCloseEvent, QShowEvent
from PyQt6.QtWidgets import QHBoxLayout, QMainWindow, QVBoxLayout, QWidget
from typing_extensions import override

from teleop_app.console.actions import ACTIONS, Action, owner, reason_actions, refusal
from teleop_app.console.chronicle import Chronicle
from teleop_app.console.inbox import Answer, Link, LinkState, Reading
from teleop_app.console.keyboard import Keyboard
from teleop_app.console.panels.action_bar import ActionBar
from teleop_app.console.panels.banner import Banner
from teleop_app.console.panels.camera_grid import CameraGrid
from teleop_app.console.panels.event_log import EventLog
from teleop_app.console.panels.fault_bar import FaultBar
from teleop_app.console.panels.health_strip import HealthStrip
from teleop_app.console.panels.left_column import LeftColumn
from teleop_app.console.panels.side_column import SideColumn
from teleop_app.console.panels.top_bar import TopBar
from teleop_app.console.situation import Situation
from teleop_app.console.station_bridge import StationBridge
from teleop_app.console.stream_health import Level
from teleop_app.console.theme import GRID, Palette
from teleop_app.station.messages import EpisodeRow, Hello, Reply, Verb

_TICK_MS = 100
_PATIENCE_MS = 2000
"""How long a window that owns a station waits to be able to ask it to end [ms]."""
_LOOK_MS = 24
"""Least time between two looks at the news: no picture of a camera at 30/s is passed over."""
_STRIP_EVERY = 5
"""Ticks between two looks at the health strip: figures are read, not watched."""


class MainWindow(QMainWindow):
    """Everything at a glance."""

    looked = pyqtSignal()
    """News were shown."""
    closing = pyqtSignal()
    """The window is about to go; everything in it is still there."""

    def __init__(self, bridge: StationBridge, palette: Palette, *, owns_station: bool = False) -> None:
        """Build the panels around `bridge`, which the window starts when shown and closes with itself.

        Args:
            bridge: The way to the station.
            palette: Colours of the panels that paint themselves.
            owns_station: Closing the window asks the station to shut down.
        """
        super().__init__()
        self.setWindowTitle("teleop")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.bridge, self.owns_station = bridge, owns_station
        self.situation = Situation(Link(LinkState.SEARCHING, bridge.endpoint))
        self.actions_table: tuple[Action, ...] = ACTIONS
        self._shutdown_id: int | None = None
        self._started = self._leaving = self._over = self._closed = False
        self.preferred_camera = ""
        """Made the largest when the cameras are known; empty for the first of the station."""
        self._ticks = 0
        self._build(palette)
        self.chronicle = Chronicle(self.log)
        self.keyboard = Keyboard(_keys(ACTIONS), self)
        self.keyboard.pressed.connect(self._key)
        bridge.news_arrived.connect(self._look_soon)
        self._next_look = QTimer(self)
        self._next_look.setSingleShot(True)
        self._next_look.setTimerType(Qt.TimerType.PreciseTimer)
        self._next_look.timeout.connect(self._look)
        self._last_look = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._tick)

    def _build(self, palette: Palette) -> None:
        self.top_bar, self.banner, self.faults = TopBar(palette), Banner(palette), FaultBar()
        self.grid, self.log, self.side = CameraGrid(palette), EventLog(), SideColumn(palette)
        self.health, self.action_bar = HealthStrip(), ActionBar(palette)
        page, middle = QWidget(), QHBoxLayout()
        page.setObjectName("page")
        page.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        middle.setSpacing(GRID)
        middle.addWidget(LeftColumn(self.grid, self.log), 1)
        middle.addWidget(self.side)
        rows = QVBoxLayout(page)
        rows.setContentsMargins(GRID, GRID // 2, GRID, GRID)
        rows.setSpacing(GRID)
        for widget in (self.top_bar, self.banner, self.faults):
            rows.addWidget(widget)
        rows.addLayout(middle, 1)
        rows.addWidget(self.health)
        rows.addWidget(self.action_bar)
        self.setCentralWidget(page)
        self.setMinimumSize(1200, 680)
        self.grid.placed.connect(self._tell_rooms)
        self.action_bar.triggered.connect(self.trigger)
        self.side.reasons.triggered.connect(self.trigger)
        self.side.episodes.discard_asked.connect(self._discard)
        self.top_bar.task_entered.connect(self._set_task)
        self.top_bar.task.focused.connect(self._say_typing)
        self.show_situation()

    # requests --------------------------------------------------------------------------------------------------

    def trigger(self, action: Action) -> None:
        """Ask the station for `action`, or say why that is impossible now."""
        if reason := refusal(action, self.situation.status, self.situation.trouble):
            self.log.say(f"{action.text} is not possible now: {reason}", Level.AMBER)
            return
        if action.verb is Verb.REASON and not action.args:
            self.side.pin_reasons()
        else:
            self.bridge.request(action.verb, dict(action.args))

    def _key(self, key: str) -> None:
        if (action := owner(self.actions_table, key, self.situation.status)) is not None:
            self.trigger(action)

    def _discard(self, episode: str, discard: bool) -> None:  # noqa: FBT001 - the signature of a signal
        self.bridge.request(Verb.DISCARD if discard else Verb.UNDO_DISCARD, {"id": episode})

    def _tell_rooms(self) -> None:
        self.bridge.set_rooms(self.grid.rooms())

    def _set_task(self, task: str) -> None:
        self.bridge.request(Verb.SET_TASK, {"task": task})

    def _say_typing(self) -> None:
        self.log.say("Writing the task: keys write text now, only Esc still stops the arm. Enter ends it.", Level.AMBER)

    def internal_error(self, sentence: str) -> None:
        """Show what the console itself did wrong."""
        self.log.say(sentence, Level.RED)

    # news ------------------------------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        """Look now, or a moment after the last look: pictures of several cameras are then painted in one go."""
        passed = self._last_look.elapsed() if self._last_look.isValid() else _LOOK_MS
        self._next_look.start(max(0, _LOOK_MS - passed))

    def _look(self) -> None:
        self._last_look.start()
        news = self.bridge.take()
        if self._over:
            return
        if news.hello is not None:
            self._meet(news.hello)
        if news.link is not None or news.reading is not None:
            self.situation = Situation(news.link or self.situation.link, news.reading or self.situation.reading)
            self._say_changes(news.reading)
        for preview in news.previews.values():
            self.grid.show_preview(preview)
        for trouble in news.troubles:
            self.log.say(trouble, Level.AMBER)
        for answer in news.answers:
            self._answered(answer)
        if self._leaving:
            self._ask_to_end()
        self.looked.emit()

    def _say_changes(self, reading: Reading | None) -> None:
        if self._shutdown_id is not None and not self.situation.live:
            self._end()
            return
        if reading is not None:
            self.side.joints.add(reading)
        for panel in (self.banner, self.grid, self.faults, self.action_bar):
            panel.show_situation(self.situation)
        if self.chronicle.note(self.situation):
            self.show_situation()
            self.bridge.request(Verb.EPISODES)

    def _meet(self, hello: Hello) -> None:
        self.setWindowTitle(f"teleop: {hello.station}")
        self.grid.set_cameras(hello.cameras)
        if self.preferred_camera in self.grid.tiles:
            self.grid.enlarge(self.preferred_camera)
            self.preferred_camera = ""
        reasons = reason_actions(hello.reasons)
        self.actions_table = ACTIONS + reasons
        self.keyboard.keys = _keys(self.actions_table)
        self.side.reasons.set_actions(reasons)
        self.bridge.request(Verb.EPISODES)

    def _answered(self, answer: Answer) -> None:
        request, reply = answer.request, answer.reply
        if request.id == self._shutdown_id:
            self._end()
        elif request.verb is Verb.EPISODES:
            self._list(reply)
        elif reply.message:
            self.log.say(reply.message, Level.OK if reply.ok else Level.AMBER)
        if reply.ok and request.verb is Verb.REASON:
            self.side.reasons.show_chosen(str(request.args.get("reason", "")).replace("_", " "))
        if request.verb in (Verb.DISCARD, Verb.UNDO_DISCARD, Verb.SUCCESS, Verb.FAILURE):
            self.bridge.request(Verb.EPISODES)

    def _list(self, reply: Reply) -> None:
        """Show the episodes; an answer that did not come is asked for again when the station is back."""
        if reply.ok:
            rows = [EpisodeRow.model_validate(row) for row in reply.data.get("episodes", [])]
            self.side.episodes.show_episodes(tuple(rows))

    def _tick(self) -> None:
        self._ticks += 1
        for panel in (self.top_bar, self.side, self.grid):
            panel.show_situation(self.situation)
        self.side.joints.redraw()
        if self._ticks % _STRIP_EVERY == 0:
            self.health.show_situation(self.situation)

    def show_situation(self) -> None:
        """Show every panel how things stand."""
        for panel in (self.top_bar, self.side, self.banner, self.grid, self.faults, self.action_bar):
            panel.show_situation(self.situation)

    # life ------------------------------------------------------------------------------------------------------

    @override
    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        if not self._started:
            self._started = True
            if (handle := self.windowHandle()) is not None:
                handle.installEventFilter(self.keyboard)
            self._timer.start()
            self.bridge.start()
            self._tell_rooms()
            self._look()

    @override
    def closeEvent(self, event: QCloseEvent | None) -> None:
        if event is None:
            return
        if self.owns_station and not self._over:
            event.ignore()
            if not self._leaving:
                self._leaving = True
                self.log.say("Shutting the station down: the arm holds, an open episode is kept.")
                if not self.situation.live:  # it may only be slow to be heard
                    QTimer.singleShot(_PATIENCE_MS, self._end)
            self._ask_to_end()
            return
        if not self._closed:
            self._closed = self._over = True
            self.closing.emit()
            self._timer.stop()
            self._next_look.stop()
            self.bridge.close()
        event.accept()

    def _ask_to_end(self) -> None:
        if self._shutdown_id is None and self.situation.live:
            self._shutdown_id = self.bridge.request(Verb.SHUTDOWN)

    def _end(self) -> None:
        self._over = True
        self.close()


def _keys(actions: tuple[Action, ...]) -> frozenset[str]:
    return frozenset(key for action in actions for key in (action.shortcut, action.also) if key)
