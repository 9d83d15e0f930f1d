"""The console's side of the protocol in teleop_app.station.messages: sockets, silence, and answers that do not come.

Lives in one thread, the bridge's. Requests are never queued for a station that is not there: what was pressed during
an outage must not happen after it.
"""

import logging
from collections.abc import Callable
from typing import TypeVar

import zmq
from pydantic import BaseModel, ValidationError
from PyQt6.QtCore import QElapsedTimer

from teleop_app.console.inbox import Answer, Link, LinkState, Reading
from teleop_app.console.pictures import PictureDecoder, PictureError, Size
from teleop_app.station.messages import (
    PREVIEW_PREFIX,
    STATUS_TOPIC,
    Hello,
    PreviewHeader,
    Reply,
    Request,
    StationStatus,
    Verb,
)

logger = logging.getLogger(__name__)

HELLO_ID = 0
SILENT_AFTER_S = 0.6
"""A status is due every 0.05 s; the silence must be said within 1 s."""
ANSWER_WITHIN_S = {Verb.SHUTDOWN: 10.0}
ANSWER_WITHIN_DEFAULT_S = 1.0
_STEP_MS = 50
_SAY_EVERY_S = 0.1
_HELLO_EVERY_S = 0.5

M = TypeVar("M", bound=BaseModel)


def _started() -> QElapsedTimer:
    timer = QElapsedTimer()
    timer.start()
    return timer


def _seconds(timer: QElapsedTimer) -> float:
    return timer.nsecsElapsed() / 1e9


class StationClient:
    """Both sockets, and what is known of the other side."""

    def __init__(
        self, context: "zmq.Context[zmq.Socket[bytes]]", endpoint: str, publish: Callable[[object], None]
    ) -> None:
        """Open the sockets; connecting happens in the background and again whenever the station comes back.

        Args:
            context: Owner of the sockets.
            endpoint: The station's request socket.
            publish: Where readings, previews, answers, hellos, links and sentences go.

        Raises:
            zmq.ZMQError: `endpoint` is not an address.
        """
        self._endpoint, self._publish = endpoint, publish
        self._requests = context.socket(zmq.DEALER)
        self._feed = context.socket(zmq.SUB)
        self._outbox = context.socket(zmq.PULL)
        for sock in (self._requests, self._feed, self._outbox):
            sock.setsockopt(zmq.LINGER, 0)
        for sock in (self._requests, self._feed):
            sock.setsockopt(zmq.HEARTBEAT_IVL, 1000)
            sock.setsockopt(zmq.HEARTBEAT_TIMEOUT, 3000)
        self._requests.setsockopt(zmq.IMMEDIATE, 1)
        self._feed.setsockopt(zmq.RCVHWM, 64)
        self._feed.subscribe(STATUS_TOPIC)
        self._feed.subscribe(PREVIEW_PREFIX)
        self._poller = zmq.Poller()
        for sock in (self._requests, self._feed, self._outbox):
            self._poller.register(sock, zmq.POLLIN)
        self._feed_endpoint = ""
        self._decoder = PictureDecoder()
        self.rooms: dict[str, Size] = {}
        """Camera -> height and width that its pictures are shown in [px]; replaced as a whole from outside."""
        self._pending: dict[int, tuple[Request, QElapsedTimer]] = {}
        self._state = LinkState.SEARCHING
        self._heard, self._said = _started(), _started()
        self._asked = QElapsedTimer()
        """Since the last greeting; not valid before the first."""
        self._unusable = 0
        try:
            self._requests.connect(endpoint)
        except zmq.ZMQError:
            self.close()
            raise

    def listen_to(self, outbox: str) -> None:
        """Take requests from the inproc address `outbox`."""
        self._outbox.connect(outbox)

    def close(self) -> None:
        """Close the sockets."""
        for sock in (self._requests, self._feed, self._outbox):
            sock.close()

    def step(self) -> None:
        """Wait for at most 50 ms, then deal with everything that is there."""
        ready = dict(self._poller.poll(_STEP_MS))
        if self._outbox in ready:
            self._forward()
        if self._requests in ready:
            self._receive_replies()
        if self._feed in ready:
            self._receive_feed()
        self._watch()

    # requests --------------------------------------------------------------------------------------------------

    def _forward(self) -> None:
        for (body,) in _drain(self._outbox):
            if body:
                self._ask(Request.model_validate_json(body))

    def _ask(self, request: Request) -> bool:
        """Send `request` if the station is connected; return whether it is."""
        try:
            self._requests.send(request.model_dump_json().encode(), zmq.NOBLOCK)
        except zmq.Again:
            self._answer(request, "was not sent: the station is not connected")
            return False
        self._pending[request.id] = (request, _started())
        return True

    def _answer(self, request: Request, problem: str) -> None:
        """Report a request that came to nothing, unless it was the console's own greeting."""
        if request.id != HELLO_ID:
            advice = ". Use the hardware stop." if request.verb is Verb.STOP else "."
            name = "STOP (software)" if request.verb is Verb.STOP else request.verb.value.replace("_", " ").capitalize()
            self._publish(Answer(request, Reply(id=request.id, ok=False, message=f"{name} {problem}{advice}")))

    def _receive_replies(self) -> None:
        for *_, body in _drain(self._requests):
            reply = self._parse(Reply, body)
            if reply is None:
                continue
            request, _timer = self._pending.pop(reply.id, (None, None))
            if reply.id == HELLO_ID:
                self._meet(reply)
            elif request is None:
                self._publish(f"A late answer: {reply.message}")
            else:
                self._publish(Answer(request, reply))

    def _meet(self, reply: Reply) -> None:
        hello = self._parse(Hello, reply.data)
        if hello is None:
            return
        if hello.feed_endpoint != self._feed_endpoint:
            if self._feed_endpoint:
                self._feed.disconnect(self._feed_endpoint)
            self._feed.connect(hello.feed_endpoint)
            self._feed_endpoint = hello.feed_endpoint
        self._publish(hello)

    # feed ------------------------------------------------------------------------------------------------------

    def _receive_feed(self) -> None:
        """Of everything that waits, only the newest of each topic is looked into."""
        newest = {message[0]: message for message in _drain(self._feed)}
        for topic, message in newest.items():
            if topic == STATUS_TOPIC and len(message) == 2:
                self._receive_status(message[1])
            elif len(message) == 3:
                self._receive_preview(message[1], message[2])
            else:
                self._cannot_use(f"{topic!r} with {len(message)} parts")

    def _receive_status(self, body: bytes) -> None:
        status = self._parse(StationStatus, body)
        if status is None:
            return
        quiet_s, self._heard = _seconds(self._heard), _started()
        self._publish(Reading(status, self._heard))
        if self._state is not LinkState.LIVE:
            if self._state is LinkState.SILENT:
                self._publish(f"The station is back after {quiet_s:.1f} s of silence.")
            self._state = LinkState.LIVE
            self._publish(Link(LinkState.LIVE, self._endpoint, 0.0, self._feed_endpoint))

    def _receive_preview(self, head: bytes, jpeg: bytes) -> None:
        header = self._parse(PreviewHeader, head)
        if header is None:
            return
        try:
            self._publish(self._decoder.decode(header, jpeg, self.rooms.get(header.camera)))
        except PictureError as error:
            self._cannot_use(f"a picture of {header.camera}: {error}")

    # silence ---------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        for request, timer in list(self._pending.values()):
            limit_s = ANSWER_WITHIN_S.get(request.verb, ANSWER_WITHIN_DEFAULT_S)
            if _seconds(timer) > limit_s:
                del self._pending[request.id]
                self._answer(request, f"was not answered within {limit_s:.0f} s")
        quiet_s = _seconds(self._heard)
        if self._state is LinkState.LIVE and quiet_s > SILENT_AFTER_S:
            self._state = LinkState.SILENT
        if self._state is LinkState.LIVE:
            return
        due = not self._asked.isValid() or _seconds(self._asked) > _HELLO_EVERY_S
        if due and self._ask(Request(id=HELLO_ID, verb=Verb.HELLO, client="console")):
            self._asked.start()
        if _seconds(self._said) > _SAY_EVERY_S:
            self._said.start()
            self._publish(Link(self._state, self._endpoint, quiet_s, self._feed_endpoint))

    def _parse(self, model: type[M], body: bytes | dict[str, object]) -> M | None:
        """A message of the station, or None after having said that it makes no sense."""
        try:
            return model.model_validate_json(body) if isinstance(body, bytes) else model.model_validate(body)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "text"
            self._cannot_use(f"{model.__name__}, {where}: {first['msg']}")
            return None

    def _cannot_use(self, what: str) -> None:
        self._unusable += 1
        logger.warning("unusable message from the station: %s", what)
        self._publish(f"A message from the station makes no sense ({self._unusable} so far): {what}")


def _drain(sock: "zmq.Socket[bytes]") -> list[list[bytes]]:
    """All messages that wait."""
    messages = []
    while True:
        try:
            messages.append(sock.recv_multipart(zmq.NOBLOCK))
        except zmq.Again:
            return messages
