"""The station's two sockets: requests in, status and previews out. One thread owns both sockets.

Loopback unless told otherwise. A slow client loses old previews, never the station's time: the feed's queue is short.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import zmq
from pydantic import ValidationError

from drivers import clock
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot
from recorder.errors import RecorderError
from teleop_app.station.errors import StationError
from teleop_app.station.messages import (
    DEFAULT_REQUEST_PORT,
    PREVIEW_PREFIX,
    STATUS_TOPIC,
    PreviewHeader,
    Reply,
    Request,
)
from teleop_app.station.station import Station
from teleop_app.station.status import station_status
from teleop_app.station.verbs import EDGES, Verbs

log = logging.getLogger(__name__)

STATUS_PERIOD_NS = 50_000_000
POLL_MS = 8
FEED_QUEUE = 60
LAST_WORDS_MS = 300
"""How long the answer to a shutdown may take to leave [ms]."""


class StationServer:
    """Serves one station until `stop`."""

    def __init__(self, station: Station, *, host: str = "127.0.0.1", port: int = DEFAULT_REQUEST_PORT) -> None:
        """Prepare; `port` 0 takes any free one. The feed uses a port of its own."""
        self._station = station
        self._host, self._port = host, port
        self._stop = threading.Event()
        self.ended = threading.Event()
        """Set when a client asked for shutdown."""
        self._replies: SimpleQueue[tuple[bytes, Reply]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self.endpoint = ""
        """Where requests go, once started."""
        self.wanted = 0
        """Episodes planned, for the counter."""

    def start(self) -> None:
        """Bind and serve. Raises StationError with one sentence if the port is taken."""
        self._context = zmq.Context()
        requests, feed = self._context.socket(zmq.ROUTER), self._context.socket(zmq.PUB)
        for socket in (requests, feed):
            socket.setsockopt(zmq.LINGER, LAST_WORDS_MS)
        feed.setsockopt(zmq.SNDHWM, FEED_QUEUE)
        try:
            self.endpoint = self._bind(requests, self._port)
            feed_endpoint = self._bind(feed, 0)
        except zmq.ZMQError as error:
            requests.close()
            feed.close()
            self._context.term()
            raise StationError(f"port {self._port} on {self._host}: {error.strerror}; is a station running?") from None
        verbs = Verbs(self._station, feed_endpoint, self.ended.set)
        self._thread = threading.Thread(target=self._serve, args=(requests, feed, verbs), name="server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and close the sockets."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(10.0)
            self._thread = None
        if self._context is not None:
            self._context.term()
            self._context = None

    def _bind(self, socket: "zmq.Socket[bytes]", port: int) -> str:
        socket.bind(f"tcp://{self._host}:{port or '*'}")
        return socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def _serve(self, requests: "zmq.Socket[bytes]", feed: "zmq.Socket[bytes]", verbs: Verbs) -> None:
        previews = {name: Preview(camera.link.preview) for name, camera in self._station.hardware.cameras.items()}
        next_status_ns = clock.now_ns()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="session") as pool:
            while not self._stop.is_set():
                if requests.poll(POLL_MS):
                    self._accept(requests.recv_multipart(), verbs, pool)
                self._send_replies(requests)
                for name, preview in previews.items():
                    preview.forward(name, feed)
                if clock.now_ns() >= next_status_ns:
                    next_status_ns = max(next_status_ns + STATUS_PERIOD_NS, clock.now_ns())
                    status = station_status(self._station, verbs.denied(), self.wanted)
                    feed.send_multipart([STATUS_TOPIC, status.model_dump_json().encode()])
        self._send_replies(requests)
        for preview in previews.values():
            preview.close()
        requests.close()
        feed.close()

    def _accept(self, frames: list[bytes], verbs: Verbs, pool: ThreadPoolExecutor) -> None:
        """Answer one message; what touches files is answered later, by the session's thread."""
        sender, body = frames[0], frames[-1]
        try:
            request = Request.model_validate_json(body)
        except ValidationError as error:
            log.warning("a client sent something that is no request: %s", error.errors()[0]["msg"])
            self._replies.put((sender, Reply(id=-1, ok=False, message="That was no request.")))
            return
        if request.verb in EDGES:
            self._answer(sender, request, verbs)
        else:
            pool.submit(self._answer, sender, request, verbs)

    def _answer(self, sender: bytes, request: Request, verbs: Verbs) -> None:
        try:
            message, data = verbs.run(request.verb, request.args, request.client)
            reply = Reply(id=request.id, ok=True, message=message, data=data)
        except (StationError, DriverError, RecorderError, OSError) as error:
            reply = Reply(id=request.id, ok=False, message=str(error))
        except Exception:
            log.exception("%s failed", request.verb)
            reply = Reply(id=request.id, ok=False, message=f"{request.verb} failed; the station's log has the details.")
        self._replies.put((sender, reply))

    def _send_replies(self, requests: "zmq.Socket[bytes]") -> None:
        while True:
            try:
                sender, reply = self._replies.get_nowait()
            except Empty:
                return
            requests.send_multipart([sender, reply.model_dump_json().encode()])


class Preview:
    """One camera's newest frame on its way to the feed."""

    def __init__(self, attach: Callable[[], LatestSlot]) -> None:
        """Attach when the camera first has a frame."""
        self._attach = attach
        self._slot: LatestSlot | None = None
        self._sequence = 0

    def forward(self, name: str, feed: "zmq.Socket[bytes]") -> None:
        """Send the newest frame if it is new."""
        if self._slot is None:
            try:
                self._slot = self._attach()
            except DriverError:
                return  # the worker is still making it, or has ended: the stream's health says so
        value = self._slot.read(after=self._sequence)
        if value is None:
            return
        self._sequence = value.sequence
        header = PreviewHeader(
            camera=name,
            stamp_ns=value.stamp_ns,
            sequence=value.sequence,
            height=value.tag >> 16,
            width=value.tag & 0xFFFF,
        )
        feed.send_multipart([PREVIEW_PREFIX + name.encode(), header.model_dump_json().encode(), value.payload])

    def close(self) -> None:
        """Let go of the slot."""
        if self._slot is not None:
            self._slot.close()
