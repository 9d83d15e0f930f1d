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
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from pydantic import TypeAdapter

from drivers import clock
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
from teleop_app.station.health import HealthMonitor
from teleop_app.station.health_figures import Subject
from teleop_app.station.health_pictures import PictureWatch
from teleop_app.station.recording import image_spec
from teleop_app.station.stream_recorder import StreamRecorder
from teleop_app.station.worker_link import NO_ANSWER

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
        self._monitor = HealthMonitor(Subject.of(config, "frames"), self._camera.dropped)
        self._pictures = PictureWatch(config.name, config.health, self._monitor.runs)
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
        self._monitor.prepare()
        self._recorder.prepare(Path(episode), ImageStreamSpec.model_validate(spec))

    def begin(self, start_ns: int) -> None:
        """Record frames true at or after `start_ns`."""
        self._monitor.begin(start_ns)
        self._recorder.begin(start_ns)

    def suspend(self) -> None:
        """Let frames wait, because the end is about to be set."""
        self._recorder.suspend()

    def end(self, stop_ns: int) -> None:
        """The episode ended at `stop_ns`."""
        self._monitor.end(stop_ns)
        self._recorder.end(stop_ns)

    def finish(self) -> dict[str, Any]:
        """Close the stream; return its summary and where its stamps came from."""
        summary = self._monitor.finish(self._recorder.finish(), self._pictures.sharpness).model_dump(mode="json")
        newest = self._reader.latest
        source = newest.stamp_source.value if newest is not None else "none"
        lost = [asdict(run) for run in self._recorder.lost]
        runs = [asdict(run) for run in self._monitor.take_runs()]
        return {
            "summary": summary,
            "stamp_source": source,
            "facts": dict(self._camera.facts()),
            "lost": lost,
            "runs": runs,
        }

    def arm_moves(self, *, moving: bool) -> None:
        """An arm begins to move, or has come to rest."""
        self._pictures.arm_moves(clock.now_ns() if moving else None)

    def health(self) -> dict[str, Any]:
        """Live figures, JSON-ready, and what was out of its limits since the last call."""
        age_s = self._reader.age_s()
        error = self._reader.error
        return {
            "rate_hz": self._reader.rate_hz,
            "age_s": age_s if age_s != float("inf") else -1.0,
            "drops": self._camera.dropped(),
            "count": self._reader.count,
            "fault": str(error) if error is not None else self._recorder.fault,
            "problems": list(self._monitor.problems(clock.now_ns()).values()),
            "jitter_s": self._monitor.figures.jitter_s,
            "offset_s": self._monitor.figures.offset_s,
            "runs": [asdict(run) for run in self._monitor.take_runs()],
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
        """Record, preview and judge one frame; it is encoded once for all."""
        is_jpeg = image.encoding is ImageEncoding.JPEG
        jpeg = bytes(image.data) if is_jpeg else jpeg_codec.encode(image.data, self._encoding)
        self._recorder.offer(image.stamp_ns - self._latency_ns, image.received_ns, jpeg)
        if self._slot is not None:
            self._slot.write(image.stamp_ns, jpeg, image.height << 16 | image.width)
        content = jpeg if self.config.health.same_content_s is not None else None
        self._monitor.observe(image.stamp_ns - self._latency_ns, image.received_ns, content)
        self._pictures.take(image.data, image.received_ns)


def serve(worker: CameraWorker, lines: TextIO, out: TextIO) -> None:
    """Answer requests until `lines` ends."""
    lock = threading.Lock()
    stop = threading.Event()

    def say(message: Callable[[], dict[str, Any]]) -> None:
        with lock:  # made in its turn, so that what one message took is not said after the next
            out.write(json.dumps(message()) + "\n")
            out.flush()

    def report_health() -> None:
        while not stop.wait(HEALTH_PERIOD_S):
            say(lambda: {"health": worker.health()})

    verbs: dict[str, Callable[..., Any]] = {
        "connect": worker.connect,
        "prepare": worker.prepare,
        "begin": worker.begin,
        "suspend": worker.suspend,
        "end": worker.end,
        "finish": worker.finish,
        "keep": worker.keep,
        "spec": worker.spec,
        "arm_moves": worker.arm_moves,
    }
    health = threading.Thread(target=report_health, name="health", daemon=True)
    health.start()
    try:
        for line in lines:
            request = json.loads(line)
            answer = _answer(verbs, request)
            if request["id"] != NO_ANSWER:
                say(partial(dict, answer))
    except BrokenPipeError:
        log.warning("%s: the station is gone; closing", worker.config.name)
    finally:
        stop.set()
        worker.close()


def _answer(verbs: Mapping[str, Callable[..., Any]], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"id": request["id"], "result": verbs[request["verb"]](**request["args"])}
    except (DriverError, RecorderError, OSError) as error:
        return {"id": request["id"], "error": str(error)}


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
