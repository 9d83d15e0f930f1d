"""The station's end of a camera worker: start the process, ask, listen to its health, end it."""

import json
import logging
import os
import subprocess
import sys
import threading
from collections import deque
from queue import Empty, SimpleQueue
from typing import Any

from drivers import clock
from drivers.configs import CameraConfig
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 40.0
REQUEST_TIMEOUT_S = 5.0
UNHEARD_S = 2.0
"""A worker reports its health four times a second; after so long without, it hangs."""
NO_ANSWER = 0
"""Id of a request that is not answered."""


class WorkerLink:
    """One worker. Requests come from one thread; health may be read and notifications sent from any."""

    def __init__(self, config: CameraConfig, run_id: str) -> None:
        """Prepare; the process starts with `start`."""
        self.config = config
        self.name = config.name
        self.slot_name = f"{run_id}-{config.name}"
        self._run_id = run_id
        self._process: subprocess.Popen[str] | None = None
        self._replies: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._next_id = 0
        self._closing = False
        self._sending = threading.Lock()
        self._health: dict[str, Any] = {"rate_hz": 0.0, "age_s": -1.0, "drops": 0, "count": 0, "fault": ""}
        self._health["problems"] = []
        self._heard_ns = 0
        self.runs: deque[dict[str, Any]] = deque()
        """When the camera was out of its limits in an episode, as reported and not yet taken."""
        self.facts: dict[str, Any] = {}

    def start(self) -> None:
        """Start the process; it connects when asked to."""
        described = {"config": self.config.model_dump(mode="json"), "run_id": self._run_id, "slot": self.slot_name}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "teleop_app.station.camera_worker", json.dumps(described)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=dict(os.environ),
        )
        threading.Thread(target=self._listen, name=f"worker-{self.name}", daemon=True).start()

    @property
    def health(self) -> dict[str, Any]:
        """What the worker last said of its camera; once it says nothing any more, that is the fault."""
        unheard_s = (clock.now_ns() - self._heard_ns) / 1e9 if self._heard_ns else 0.0
        if unheard_s < UNHEARD_S or self._health["fault"]:
            return self._health
        fault = f"{self.name}: its process has not been heard of for {unheard_s:.0f} s"
        age_s = self._health["age_s"]
        return {**self._health, "rate_hz": 0.0, "age_s": age_s + unheard_s if age_s >= 0 else age_s, "fault": fault}

    def connect(self) -> None:
        """Ask the worker to open its camera. Raises DriverError with the worker's sentence."""
        self.facts = self.ask("connect", timeout_s=CONNECT_TIMEOUT_S)

    def preview(self) -> LatestSlot:
        """Attach to the newest frame."""
        return LatestSlot.attach(self.slot_name)

    def ask(self, verb: str, timeout_s: float = REQUEST_TIMEOUT_S, **args: Any) -> Any:
        """Send one request and wait for its reply."""
        request_id = self.tell(verb, **args)
        return self.answer(request_id, verb, timeout_s)

    def tell(self, verb: str, **args: Any) -> int:
        """Send one request; its reply is fetched with `answer`."""
        self._next_id += 1
        self._send(self._next_id, verb, args)
        return self._next_id

    def notify(self, verb: str, **args: Any) -> None:
        """Send something that is not answered; any thread may."""
        self._send(NO_ANSWER, verb, args)

    def _send(self, request_id: int, verb: str, args: dict[str, Any]) -> None:
        process = self._process
        if process is None or process.stdin is None or process.poll() is not None:
            raise DriverError(f"{self.name}: its process has ended")
        try:
            with self._sending:
                process.stdin.write(json.dumps({"id": request_id, "verb": verb, "args": args}) + "\n")
                process.stdin.flush()
        except (OSError, ValueError):  # ValueError: closed meanwhile
            raise DriverError(f"{self.name}: its process has ended") from None

    def answer(self, request_id: int, verb: str, timeout_s: float = REQUEST_TIMEOUT_S) -> Any:
        """Wait for the reply to `request_id`."""
        while True:
            try:
                reply = self._replies.get(timeout=timeout_s)
            except Empty:
                raise DriverError(f"{self.name}: no answer to {verb} within {timeout_s:.0f} s") from None
            if reply.get("ended"):
                raise DriverError(f"{self.name}: its process ended during {verb}")
            if reply["id"] != request_id:
                continue  # the late answer to a request that was given up
            if "error" in reply:
                raise DriverError(reply["error"])
            return reply["result"]

    def stop(self) -> None:
        """End the process: close its input, wait, and only then insist."""
        process, self._closing = self._process, True
        if process is None:
            return
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
        try:
            process.wait(5.0)
        except subprocess.TimeoutExpired:
            log.warning("%s: its process did not end within 5 s and is killed", self.name)
            process.kill()
            process.wait(5.0)
        self._process = None

    def _listen(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                message = json.loads(line)
                if "health" in message:
                    self.runs.extend(message["health"].pop("runs"))
                    self._health, self._heard_ns = message["health"], clock.now_ns()
                else:
                    self._replies.put(message)
        self._replies.put({"ended": True})
        if not self._closing:
            self._health = {**self._health, "rate_hz": 0.0, "fault": f"{self.name}: its process ended unexpectedly"}
