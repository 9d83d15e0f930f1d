"""Health in an episode: marked, summarised, or a reason not to begin; case by case through session and files."""

import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drivers import clock
from drivers.configs import SimCameraConfig
from drivers.samples import Image, ImageEncoding
from recorder import jpeg
from recorder.episode import EpisodeInfo, Event
from recorder.reader import open_episode
from recorder.segments import CollectionMode
from recorder.streams import ImageStreamSpec
from recorder.validate import verify
from teleop_app.station.camera_stream import CameraStream
from teleop_app.station.camera_worker import CameraWorker
from teleop_app.station.config import HealthGate, StationConfig
from teleop_app.station.errors import RequestRefusedError
from teleop_app.station.health_gate import refusal
from teleop_app.station.session import Session

SECOND_NS = 1_000_000_000
SPEC = ImageStreamSpec(name="front", rate_hz=30, height=48, width=64)


class DirectLink:
    """A worker of this process, asked as one of another process is."""

    def __init__(self, config: SimCameraConfig) -> None:
        self.config, self.name = config, config.name
        self.worker = CameraWorker(config, "run", "slot")
        self.runs: deque[dict[str, Any]] = deque()

    def ask(self, verb: str, **args: Any) -> Any:
        return getattr(self.worker, verb)(**args)

    @property
    def health(self) -> dict[str, Any]:
        said = self.worker.health()
        self.runs.extend(said.pop("runs"))
        return said


class Bench:
    """A session with one camera, whose frames the test makes; they were true up to 20 s ago."""

    def __init__(self, folder: Path, gate: str = "mark", **health: object) -> None:
        camera = {"driver": "sim_camera", "name": "front", "rate_hz": 30, "width": 64, "height": 48, "health": health}
        self.config = StationConfig.model_validate(
            {
                "station": "bench",
                "task": "stack",
                "follower": "arm",
                "devices": [{"driver": "sim_arm", "name": "arm"}, camera],
                "episodes": {"health_gate": gate},
            }
        )
        config = self.config.device("front")
        assert isinstance(config, SimCameraConfig)
        self.link = DirectLink(config)
        self.session = Session(self.config, folder / "collection", [CameraStream(self.link)])  # type: ignore[arg-type, list-item]
        self.start_ns = clock.now_ns() - 20 * SECOND_NS
        self._number = 0

    def start(self) -> int:
        self.session.start(CollectionMode.TELEOP_DEMO, before_s=20)
        self.start_ns = max(self.start_ns, self.session._start_ns)
        return self.start_ns

    def show(self, stamps: np.ndarray, received: np.ndarray | None = None, *, black: bool = False) -> None:
        for row, stamp in enumerate(stamps):
            self._number += 1
            pixels = np.random.default_rng(self._number).integers(0, 0 if black else 200, (48, 64, 3), np.uint8, True)
            data = np.frombuffer(jpeg.encode(pixels, SPEC), np.uint8)
            arrived = int(stamp if received is None else received[row])
            self.link.worker._take(Image(int(stamp), arrived, ImageEncoding.JPEG, data, 48, 64))

    def stop(self) -> tuple[EpisodeInfo, list[Event]]:
        self.session.keep_house()
        info = self.session.stop()
        assert open_episode(self.session.last_path).info == info  # type: ignore[arg-type]
        return info, [event for event in info.events if event.kind == "health"]

    def errors(self) -> list[str]:
        return [found.sentence for found in verify(self.session.last_path) if found.severity == "error"]  # type: ignore[arg-type]


def at(start_ns: int, count: int, rate_hz: float) -> np.ndarray:
    return start_ns + np.round(np.arange(count) / rate_hz * 1e9).astype(np.int64)


def events_of(events: list[Event], problem: str) -> list[Event]:
    return [event for event in events if event.detail["problem"] == problem]


def test_a_camera_slower_than_declared_is_measured_stored_and_said(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.show(at(bench.start(), 300, 24))
    assert bench.link.worker.health()["problems"][-1] == "front delivers 24.0 of 30 frames a second."
    info, events = bench.stop()
    assert info.streams["front"].rate_hz == pytest.approx(24.0, abs=0.1)
    assert "front delivers 24.0 of 30 frames a second." in info.streams["front"].warnings
    (mark,) = events_of(events, "rate")
    assert mark.time_ns == mark.detail["start_ns"] == bench.start_ns
    assert mark.detail["duration_s"] == pytest.approx(12.4, abs=0.3)
    assert mark.detail["sentence"] == "front delivers 24.0 of 30 frames a second."
    assert bench.errors() == []


def test_a_stale_camera_is_one_run_flagged_and_the_episode_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    received = at(bench.start(), 90, 30)
    stamps = received.copy()
    stamps[30:60] = stamps[29]
    bench.show(stamps, received)
    info, events = bench.stop()
    (mark,) = events_of(events, "stale")
    assert (mark.detail["start_ns"], mark.detail["end_ns"]) == (received[29], received[59])
    assert mark.detail["duration_s"] == pytest.approx(1.0)
    assert info.streams["front"].out_of_limits_s["stale"] == pytest.approx(1.0)
    assert [run.rows for run in info.streams["front"].stale_runs] == [30]
    assert (open_episode(bench.session.last_path).streams["front"].time == stamps).all()  # type: ignore[arg-type]
    assert info.state.value == "complete"


def test_a_black_camera_is_a_warning_and_no_error_of_integrity(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.show(at(bench.start(), 90, 30), black=True)
    info, events = bench.stop()
    assert [event.detail["sentence"] for event in events_of(events, "black")] == ["front is black."]
    assert any("front was black for 2." in warning for warning in info.streams["front"].warnings)
    (silence,) = events_of(events, "gap")
    assert silence.detail["end_ns"] == info.stop_ns
    assert bench.errors() == []


def test_a_good_camera_has_no_mark_but_its_sharpness(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    stamps = at(bench.start(), 300, 30)
    stamps += clock.now_ns() - stamps[-1]  # the last frame is new
    bench.show(stamps)
    info, events = bench.stop()
    summary = info.streams["front"]
    assert (events, summary.warnings, summary.out_of_limits_s) == ([], (), {})
    assert summary.jitter_s == pytest.approx(0, abs=1e-4)
    assert summary.offset_s == pytest.approx(0)
    assert summary.sharpness is not None
    assert summary.sharpness > 0


def test_with_the_gate_off_nothing_is_marked_and_the_figures_are_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, gate="off")
    bench.show(at(bench.start(), 300, 24))
    info, events = bench.stop()
    assert events == []
    assert info.streams["front"].out_of_limits_s["rate"] > 12


def test_a_start_is_refused_while_a_stream_is_out_of_its_limits(tmp_path: Path) -> None:
    bench = Bench(tmp_path, gate="refuse", gap_s=30)
    bench.show(at(bench.start_ns, 240, 24))
    with pytest.raises(RequestRefusedError, match=r"front delivers 24\.0 of 30 frames a second\. .*health_gate"):
        bench.session.start(CollectionMode.TELEOP_DEMO)
    assert not bench.session.recording
    bench.show(at(bench.start_ns + 10 * SECOND_NS, 240, 30))
    bench.session.start(CollectionMode.TELEOP_DEMO)
    bench.session.stop()


def test_a_silent_stream_refuses_too_and_all_that_is_wrong_is_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, gate="refuse")
    bench.show(at(bench.start_ns, 60, 30), black=True)
    sentence = refusal(HealthGate.REFUSE, bench.session._streams)
    assert sentence.startswith("front has been silent for ")
    assert "There is 1 more of the kind." in sentence
    assert refusal(HealthGate.MARK, bench.session._streams) == ""


def test_marks_are_written_as_soon_as_the_trouble_is_over(tmp_path: Path) -> None:
    """So that they outlive the station's death."""
    bench = Bench(tmp_path)
    stamps = np.delete(at(bench.start(), 90, 30), slice(20, 50))
    bench.show(stamps)
    assert bench.link.health["count"] == 0
    bench.session.keep_house()
    (episode,) = (tmp_path / "collection").glob("*.zarr")
    kinds = [event.detail.get("problem") for event in open_episode(episode).info.events if event.kind == "health"]
    assert kinds == ["gap"]
    bench.session.stop()


@pytest.mark.parametrize("value", ["strict", "none"])
def test_an_unknown_gate_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="'off', 'mark' or 'refuse'"):
        StationConfig.model_validate(
            {"station": "b", "follower": "arm", "devices": [{"driver": "sim_arm", "name": "arm"}]}
            | {"episodes": {"health_gate": value}}
        )


def test_limits_come_from_the_device_then_the_station_then_the_default_and_survive_the_episode() -> None:
    config = StationConfig.model_validate(
        {
            "station": "bench",
            "follower": "arm",
            "health": {"gap_s": 0.2, "drops": 3},
            "devices": [
                {"driver": "sim_arm", "name": "arm", "health": {"gap_s": 0.5}},
                {"driver": "sim_camera", "name": "front"},
            ],
        }
    )
    arm, front = config.device("arm").health, config.device("front").health
    assert (arm.gap_s, arm.drops, arm.slow_below) == (0.5, 3, 0.95)
    assert (front.gap_s, front.drops) == (0.2, 3)
    assert StationConfig.model_validate(config.as_json()) == config


def test_a_moment_of_judgement_costs_little() -> None:
    """Looking at one 640x480 frame, against decoding it: the figure itself is the benchmark's."""
    from recorder.image_health import look

    spec = SPEC.model_copy(update={"height": 480, "width": 640})
    pixels = np.kron(np.random.default_rng(1).integers(0, 200, (60, 80, 3), np.uint8), np.ones((8, 8, 1), np.uint8))
    data = jpeg.encode(pixels, spec)

    def quickest(do: Any) -> float:
        taken = []
        for _ in range(15):
            before = time.perf_counter()
            do(data)
            taken.append(time.perf_counter() - before)
        return min(taken)

    assert quickest(look) < 1.5 * quickest(jpeg.decode)
