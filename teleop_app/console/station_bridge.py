"""The one place where the console talks to the station: a thread with both sockets, behind a Qt signal.

The window's thread never waits: a request is a message to the thread, news are taken from an inbox.
"""

import itertools
import logging
import os
import threading
from typing import Any

import zmq
from PyQt6.QtCore import QObject, pyqtSignal

from teleop_app.console.inbox import Inbox, Link, LinkState, News
from teleop_app.console.pictures import Size
from teleop_app.console.station_client import HELLO_ID, StationClient
from teleop_app.station.errors import StationError
from teleop_app.station.messages import Request, Verb

logger = logging.getLogger(__name__)

_OUTBOX = "inproc://outbox"


class StationBridge(QObject):
    """The station as the window sees it."""

    news_arrived = pyqtSignal()
    """There is something to `take`; sent once until it is taken."""

    def __init__(self, endpoint: str, parent: QObject | None = None) -> None:
        """Remember where the station is; nothing is opened before `start`.

        Args:
            endpoint: The station's request socket, for example tcp://127.0.0.1:47801.
            parent: Qt owner.
        """
        super().__init__(parent)
        self.endpoint = endpoint
        self._inbox = Inbox()
        self._ids = itertools.count(HELLO_ID + 1)
        self._name = f"console {os.getpid()}"
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._outbox: zmq.Socket[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._client: StationClient | None = None
        self._closing = threading.Event()

    def start(self) -> None:
        """Open the sockets and begin to listen; once is enough.

        Raises:
            StationError: the endpoint is not an address.
        """
        if self._thread is not None:
            return
        self._context = zmq.Context()
        self._outbox = self._context.socket(zmq.PUSH)
        self._outbox.setsockopt(zmq.LINGER, 0)
        self._outbox.bind(_OUTBOX)
        try:
            client = StationClient(self._context, self.endpoint, self._publish)
        except zmq.ZMQError as error:
            self.close()
            raise StationError(
                f"{self.endpoint!r} is not an address of a station ({error.strerror}); "
                "allowed is tcp://HOST:PORT, for example tcp://127.0.0.1:47801"
            ) from None
        client.listen_to(_OUTBOX)
        self._client = client
        self._thread = threading.Thread(target=self._run, args=(client,), name="station-bridge", daemon=True)
        self._thread.start()

    def request(self, verb: Verb, args: dict[str, Any] | None = None) -> int:
        """Ask the station; the answer comes with the news. Returns the request's id at once."""
        request = Request(id=next(self._ids), verb=verb, args=args or {}, client=self._name)
        if self._outbox is not None and self._thread is not None and self._thread.is_alive():
            self._outbox.send(request.model_dump_json().encode(), zmq.NOBLOCK)
        return request.id

    def set_rooms(self, rooms: dict[str, Size]) -> None:
        """Say how large each camera is shown, so that pictures arrive in that size [px]."""
        if self._client is not None:
            self._client.rooms = dict(rooms)

    def take(self) -> News:
        """Everything new since the last call."""
        return self._inbox.take()

    def close(self) -> None:
        """End the thread and close the sockets; works from any state."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = self._client = None
        if self._outbox is not None:
            self._outbox.close()
            self._outbox = None
        if self._context is not None:
            self._context.term()
            self._context = None

    def _publish(self, item: Any) -> None:
        if self._inbox.put(item):
            self.news_arrived.emit()

    def _run(self, client: StationClient) -> None:
        try:
            while not self._closing.is_set():
                client.step()
        finally:
            client.close()
            if not self._closing.is_set():
                self._publish(Link(LinkState.BROKEN, self.endpoint))
