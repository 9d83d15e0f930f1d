"""A client of a station without a window: for the command line and for programs."""

from types import TracebackType
from typing import Any, Self

import zmq

from teleop_app.station.errors import RequestRefusedError, StationError
from teleop_app.station.messages import STATUS_TOPIC, Hello, Reply, Request, StationStatus, Verb


class StationClient:
    """One connection; use it as a context manager, from one thread."""

    def __init__(self, endpoint: str, name: str, timeout_s: float = 5.0) -> None:
        """Say who asks, and how long an answer may take [s]; nothing is opened yet."""
        self.endpoint, self.name = endpoint, name
        self._timeout_ms = round(timeout_s * 1e3)
        self._next_id = 0

    def __enter__(self) -> Self:
        """Open the sockets."""
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._requests = self._context.socket(zmq.DEALER)
        self._requests.setsockopt(zmq.LINGER, 0)
        self._requests.connect(self.endpoint)
        self._feed: zmq.Socket[bytes] | None = None
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        """Close them."""
        self._requests.close()
        if self._feed is not None:
            self._feed.close()
        self._context.term()

    def ask(self, verb: Verb, **args: Any) -> Reply:
        """Ask, and wait for the answer.

        Raises:
            StationError: no station answers at this endpoint.
            RequestRefusedError: the station refused, with its sentence.
        """
        self._next_id += 1
        request = Request(id=self._next_id, verb=verb, args=args, client=self.name)
        self._requests.send(request.model_dump_json().encode())
        while self._requests.poll(self._timeout_ms):
            reply = Reply.model_validate_json(self._requests.recv())
            if reply.id != request.id:
                continue  # the late answer to a request that was given up
            if not reply.ok:
                raise RequestRefusedError(reply.message)
            return reply
        raise StationError(f"no station answers at {self.endpoint}")

    def status(self) -> StationStatus:
        """Wait for the next status.

        Raises:
            StationError: none came in time.
        """
        if self._feed is None:
            hello = Hello.model_validate(self.ask(Verb.HELLO).data)
            self._feed = self._context.socket(zmq.SUB)
            self._feed.setsockopt(zmq.LINGER, 0)
            self._feed.subscribe(STATUS_TOPIC)
            self._feed.connect(hello.feed_endpoint)
        if not self._feed.poll(self._timeout_ms):
            raise StationError(f"the station at {self.endpoint} sends no status")
        frames = self._feed.recv_multipart()
        while self._feed.poll(0):  # only the newest counts
            frames = self._feed.recv_multipart()
        return StationStatus.model_validate_json(frames[1])
