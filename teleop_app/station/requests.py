"""What people and programs ask of the control loop: stamped when they arrive, decided by the loop at its next tick."""

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from drivers import clock
from teleop_app.station.arbiter import Edge


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """One request for an edge of the arbiter."""

    edge: Edge
    stamp_ns: int
    """When it arrived, monotonic clock [ns]."""
    asked_by: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


class RequestQueue:
    """Requests from any thread, taken by the loop in order of arrival. Bounded: a flood is refused, not stored."""

    LIMIT = 256

    def __init__(self) -> None:
        """Start empty."""
        self._requests: deque[ControlRequest] = deque()
        self._lock = threading.Lock()
        self.refused = 0
        """Requests turned away because the queue was full."""

    def put(self, edge: Edge, asked_by: str = "", **detail: Any) -> ControlRequest | None:
        """Stamp and enqueue a request; None if the queue is full. STOP always finds room."""
        request = ControlRequest(edge, clock.now_ns(), asked_by, detail)
        with self._lock:
            if len(self._requests) >= self.LIMIT and edge is not Edge.STOP:
                self.refused += 1
                return None
            self._requests.append(request)
        return request

    def take(self) -> list[ControlRequest]:
        """Return and forget everything asked so far."""
        if not self._requests:
            return []
        with self._lock:
            taken = list(self._requests)
            self._requests.clear()
        return taken
