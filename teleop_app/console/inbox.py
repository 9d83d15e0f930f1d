"""What has arrived from the station and was not looked at yet; written by the bridge's thread, emptied by the window.

Only the newest status and the newest preview of each camera are kept: a slow window skips pictures, it never lags.
"""

import threading
from dataclasses import dataclass, field
from enum import StrEnum

from PyQt6.QtCore import QElapsedTimer
from PyQt6.QtGui import QImage

from teleop_app.station.messages import Hello, PreviewHeader, Reply, Request, StationStatus


@dataclass(frozen=True, slots=True)
class Reading:
    """A status and when it arrived."""

    status: StationStatus
    since: QElapsedTimer
    """Started at arrival."""

    def station_now_ns(self) -> int:
        """The station's clock now, carried on by the console's own [ns]."""
        return self.status.time_ns + self.since.nsecsElapsed()


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Preview:
    """One decoded picture."""

    header: PreviewHeader
    image: QImage
    """Points into a buffer that is used again once this preview is gone; never keep it by itself."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A request and what became of it."""

    request: Request
    reply: Reply


class LinkState(StrEnum):
    """Whether the station can be heard."""

    SEARCHING = "searching"
    """Not one status yet."""
    LIVE = "live"
    SILENT = "silent"
    BROKEN = "broken"
    """The console's own thread has ended."""


@dataclass(frozen=True, slots=True)
class Link:
    """How the connection is."""

    state: LinkState
    endpoint: str
    quiet_s: float = 0.0
    """Since the last status, or since the search began [s]."""
    feed_endpoint: str = ""
    """Set once the station has answered."""

    def sentence(self) -> str:
        """What is wrong, what the arm does and what to do; empty while all is well."""
        match self.state:
            case LinkState.LIVE:
                return ""
            case LinkState.SILENT:
                return (
                    f"Station has been silent for {self.quiet_s:.1f} s: what you see is old and what the arm does is "
                    "not known. The station's watchdog works without this window, which reconnects by itself. "
                    "If the arm must not move, use the hardware stop."
                )
            case LinkState.SEARCHING if self.feed_endpoint:
                return (
                    f"The station answers at {self.endpoint} but sends no status ({self.quiet_s:.1f} s). "
                    f"Check that {self.feed_endpoint} can be reached from here."
                )
            case LinkState.SEARCHING:
                return (
                    f"No station answers at {self.endpoint} ({self.quiet_s:.1f} s). "
                    "Check that it runs and that the address is right."
                )
            case LinkState.BROKEN:
                return "The console has lost its own connection thread. The station goes on; restart the console."


@dataclass(frozen=True, slots=True)
class News:
    """Everything new since the last look."""

    reading: Reading | None = None
    previews: dict[str, Preview] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    hello: Hello | None = None
    link: Link | None = None
    troubles: tuple[str, ...] = ()
    """Sentences about messages that could not be used."""


class Inbox:
    """The newest of everything, guarded by one lock."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._announced = False
        self._reading: Reading | None = None
        self._previews: dict[str, Preview] = {}
        self._answers: list[Answer] = []
        self._hello: Hello | None = None
        self._link: Link | None = None
        self._troubles: list[str] = []

    def put(self, item: Reading | Preview | Answer | Hello | Link | str) -> bool:
        """Put `item` down; return whether the window must be told, which is once between two looks."""
        with self._lock:
            match item:
                case Reading():
                    self._reading = item
                case Preview():
                    self._previews[item.header.camera] = item
                case Answer():
                    self._answers.append(item)
                case Hello():
                    self._hello = item
                case Link():
                    self._link = item
                case str():
                    self._troubles.append(item)
            first, self._announced = not self._announced, True
            return first

    def take(self) -> News:
        """Empty the inbox."""
        with self._lock:
            news = News(
                self._reading,
                self._previews,
                tuple(self._answers),
                self._hello,
                self._link,
                tuple(self._troubles),
            )
            self._announced = False
            self._reading = self._hello = self._link = None
            self._previews, self._answers, self._troubles = {}, [], []
            return news
