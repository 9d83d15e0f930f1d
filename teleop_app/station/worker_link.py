"""The station's end of a camera worker: start the process, ask, listen to its health, end it."""

import json
import logging
import os
import subprocess
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any

from drivers.configs import CameraConfig
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 40.0
REQUEST_TIMEOUT_S = 5.0


class WorkerLink:
    """One worker. Requests come from one thread; health may be read from any."""

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
        self.health: dict[str, Any] = {"rate_hz": 0.0, "age_s": -1.0, "drops": 0, "count": 0, "fault": ""}
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
        process = self._process
        if process is None or process.stdin is None or process.poll() is not None:
            raise DriverError(f"{self.name}: its process has ended")
        self._next_id += 1
        try:
            process.stdin.write(json.dumps({"id": self._next_id, "verb": verb, "args": args}) + "\n")
            process.stdin.flush()
        except OSError:
            raise DriverError(f"{self.name}: its process has ended") from None
        return self._next_id

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
                    self.health = message["health"]
                else:
                    self._replies.put(message)
        self._replies.put({"ended": True})
        if not self._closing:
            self.health = {**self.health, "rate_hz": 0.0, "fault": f"{self.name}: its process ended unexpectedly"}
