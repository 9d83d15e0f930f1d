"""One camera in a process of its own: reads it, appends its frames to the open episode, shares only the newest frame.

The station talks to it in lines of JSON: requests on standard input, replies and health on standard output. When
standard input ends, because the station closed it or died, the worker closes its stream and exits.
"""

import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter

from drivers.build import build_camera
from drivers.configs import CameraConfig
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot
from drivers.polling import PollingReader
from drivers.protocols import Camera
from drivers.samples import Image, ImageEncoding
from recorder import jpeg as jpeg_codec
from recorder.errors import RecorderError
from recorder.streams import ImageStreamSpec
from teleop_app.station.first_sample import wait_for_first
from teleop_app.station.recording import image_spec
from teleop_app.station.stream_recorder import StreamRecorder

log = logging.getLogger(__name__)

HEALTH_PERIOD_S = 0.25
NICENESS = 5
"""Frames give way to the control loop and the arms."""


class CameraWorker:
    """The camera, its recorder and its preview slot."""

    def __init__(self, config: CameraConfig, run_id: str, slot_name: str) -> None:
        """Build; nothing is opened."""
        self.config, self._slot_name = config, slot_name
        self._camera: Camera = build_camera(config, run_id)
        self._reader = PollingReader(config.name, self._camera.read, [self._take])
        self._recorder = StreamRecorder(config.name, config.rate_hz, self._camera.dropped, config.latency_s)
        self._slot: LatestSlot | None = None
        self._latency_ns = round(config.latency_s * 1e9)
        self._encoding = image_spec(config, (config.height, config.width), {}, "")

    def connect(self) -> dict[str, Any]:
        """Open the camera and the preview slot, start reading; return the camera's facts."""
        self._camera.connect()
        self._slot = LatestSlot.create(self._slot_name, 3 * self.config.width * self.config.height)
        self._reader.start()
        if getattr(self.config, "wait_for_data", True):
            wait_for_first(self.config.name, lambda: self._reader.count, lambda: self._reader.error)
        return dict(self._camera.facts())

    def keep(self, buffer_s: float) -> None:
        """Keep the last `buffer_s` of frames while no episode is open [s]."""
        self._recorder.keep(buffer_s)

    def spec(self) -> dict[str, Any]:
        """Describe the stream: of the size that the camera delivers or, before its first frame, is set to."""
        newest = self._reader.latest
        size = (newest.height, newest.width) if newest is not None else (self.config.height, self.config.width)
        source = newest.stamp_source.value if newest is not None else "not known yet"
        return image_spec(self.config, size, self._camera.facts(), source).model_dump(mode="json")

    def prepare(self, episode: str, spec: dict[str, Any]) -> None:
        """Make the stream's files."""
        self._recorder.prepare(Path(episode), ImageStreamSpec.model_validate(spec))

    def begin(self, start_ns: int) -> None:
        """Record frames true at or after `start_ns`."""
        self._recorder.begin(start_ns)

    def suspend(self) -> None:
        """Let frames wait, because the end is about to be set."""
        self._recorder.suspend()

    def end(self, stop_ns: int) -> None:
        """The episode ended at `stop_ns`."""
        self._recorder.end(stop_ns)

    def finish(self) -> dict[str, Any]:
        """Close the stream; return its summary and where its stamps came from."""
        summary = self._recorder.finish().model_dump(mode="json")
        newest = self._reader.latest
        source = newest.stamp_source.value if newest is not None else "none"
        lost = [asdict(run) for run in self._recorder.lost]
        return {"summary": summary, "stamp_source": source, "facts": dict(self._camera.facts()), "lost": lost}

    def health(self) -> dict[str, Any]:
        """Live figures, JSON-ready."""
        age_s = self._reader.age_s()
        error = self._reader.error
        return {
            "rate_hz": self._reader.rate_hz,
            "age_s": age_s if age_s != float("inf") else -1.0,
            "drops": self._camera.dropped(),
            "count": self._reader.count,
            "fault": str(error) if error is not None else self._recorder.fault,
        }

    def close(self) -> None:
        """Stop reading, close an open stream, release everything."""
        self._reader.stop()
        self._recorder.finish()
        self._camera.disconnect()
        if self._slot is not None:
            self._slot.close()
            self._slot.unlink()
            self._slot = None

    def _take(self, image: Image) -> None:
        """Record and preview one frame; it is encoded once for both."""
        is_jpeg = image.encoding is ImageEncoding.JPEG
        jpeg = bytes(image.data) if is_jpeg else jpeg_codec.encode(image.data, self._encoding)
        self._recorder.offer(image.stamp_ns - self._latency_ns, image.received_ns, jpeg)
        if self._slot is not None:
            self._slot.write(image.stamp_ns, jpeg, image.height << 16 | image.width)


def serve(worker: CameraWorker, lines: TextIO, out: TextIO) -> None:
    """Answer requests until `lines` ends."""
    lock = threading.Lock()
    stop = threading.Event()

    def say(message: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message) + "\n")
            out.flush()

    def report_health() -> None:
        while not stop.wait(HEALTH_PERIOD_S):
            say({"health": worker.health()})

    verbs: dict[str, Callable[..., Any]] = {
        "connect": worker.connect,
        "prepare": worker.prepare,
        "begin": worker.begin,
        "suspend": worker.suspend,
        "end": worker.end,
        "finish": worker.finish,
        "keep": worker.keep,
        "spec": worker.spec,
    }
    health = threading.Thread(target=report_health, name="health", daemon=True)
    health.start()
    try:
        for line in lines:
            request = json.loads(line)
            try:
                result = verbs[request["verb"]](**request["args"])
                say({"id": request["id"], "result": result})
            except (DriverError, RecorderError, OSError) as error:
                say({"id": request["id"], "error": str(error)})
    except BrokenPipeError:
        log.warning("%s: the station is gone; closing", worker.config.name)
    finally:
        stop.set()
        worker.close()


def main() -> None:
    """Run with the worker's description as the only argument, in JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    described = json.loads(sys.argv[1])
    config = TypeAdapter(CameraConfig).validate_python(described["config"])
    out, sys.stdout = sys.stdout, sys.stderr
    serve(CameraWorker(config, described["run_id"], described["slot"]), sys.stdin, out)


if __name__ == "__main__":
    main()
