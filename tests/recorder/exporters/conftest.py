"""Synthetic episodes, written with the recorder's own writer: a 3-joint arm, cameras, a tactile pad, a control loop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from recorder.episode import EpisodeInfo
from recorder.episode_writer import EpisodeWriter, NewEpisode
from recorder.segments import CollectionMode, ControlSource, Outcome
from recorder.streams import AnyStreamSpec, FieldSpec, ImageStreamSpec, NumericStreamSpec, StreamRole
from recorder.writer import open_stream

START_NS = 1_000_000_000_000
JOINTS = ("pan", "lift", "grip")


@dataclass(frozen=True)
class Recipe:
    """What a synthetic episode is like; times in seconds from its start."""

    duration_s: float = 1.0
    task: str = "put the block in the bin"
    mode: CollectionMode = CollectionMode.INTERVENTION
    outcome: Outcome = Outcome.SUCCESS
    operator: tuple[float, float] | None = (0.435, 0.7)
    cameras: tuple[str, ...] = ("front", "wrist")
    size: tuple[int, int] = (48, 64)
    camera_hz: float = 30.0
    camera_gap: tuple[float, float] | None = None
    colour: tuple[int, int, int] | None = None
    tactile: tuple[str, ...] = ("pad",)
    joints: tuple[str, ...] = JOINTS
    state_offset: float = 0.0
    roles_left_out: frozenset[StreamRole] = field(default_factory=frozenset)
    finish: bool = True
    silent_s: float = 0.0
    station: str = "bench"


def stamps(hz: float, duration_s: float) -> np.ndarray:
    count = int(duration_s * hz + 1e-6) + 1
    return START_NS + np.round(np.arange(count) / hz * 1e9).astype(np.int64)


def state_at(time_ns: int, recipe: Recipe) -> np.ndarray:
    return (time_ns - START_NS) / 1e9 + np.arange(len(recipe.joints)) * 10.0 + recipe.state_offset


def frame_at(time_ns: int, recipe: Recipe) -> np.ndarray:
    if recipe.colour is not None:
        return np.full((*recipe.size, 3), recipe.colour, np.uint8)
    column = int((time_ns - START_NS) / 1e9 * 30) % recipe.size[1]
    frame = np.full((*recipe.size, 3), 60, np.uint8)
    frame[:, column] = (200, 40, 40)
    return frame


def _vector(name: str, role: StreamRole, recipe: Recipe, rate_hz: float, field_name: str) -> NumericStreamSpec:
    vector = FieldSpec(name=field_name, shape=(len(recipe.joints),), dims=("joint",), unit="rad", labels=recipe.joints)
    fields = (FieldSpec(name="source", dtype="uint8"), vector) if role is StreamRole.CONTROL else (vector,)
    return NumericStreamSpec(name=name, role=role, rate_hz=rate_hz, fields=fields)


def _specs(recipe: Recipe) -> list[AnyStreamSpec]:
    passive = recipe.mode is CollectionMode.PASSIVE
    force = FieldSpec(name="force", dtype="float32", shape=(2, 3, 1), dims=("row", "column", "axis"), unit="N")
    specs: list[AnyStreamSpec] = [
        _vector("arm", StreamRole.STATE, recipe, 100.0, "position"),
        _vector("control", StreamRole.CONTROL, recipe, 200.0, "sent"),
        *([_vector("command", StreamRole.ACTION, recipe, 100.0, "position")] if passive else []),
        *(
            NumericStreamSpec(name=name, role=StreamRole.TACTILE, rate_hz=150.0, fields=(force,))
            for name in recipe.tactile
        ),
        *(
            ImageStreamSpec(name=name, rate_hz=30.0, height=recipe.size[0], width=recipe.size[1], quality=95)
            for name in recipe.cameras
        ),
    ]
    return [spec for spec in specs if spec.role not in recipe.roles_left_out]


def _source_at(time_ns: int, recipe: Recipe) -> ControlSource:
    if recipe.mode is CollectionMode.TELEOP_DEMO:
        return ControlSource.OPERATOR
    begin, end = recipe.operator or (np.inf, np.inf)
    return ControlSource.OPERATOR if begin <= (time_ns - START_NS) / 1e9 < end else ControlSource.POLICY


def _values(spec: NumericStreamSpec, time_ns: int, recipe: Recipe) -> dict[str, object]:
    state = state_at(time_ns, recipe)
    if spec.role is StreamRole.CONTROL:
        source = _source_at(time_ns, recipe)
        sent = state + (1000.0 if source is ControlSource.OPERATOR else 0.5)
        silent = recipe.mode is CollectionMode.PASSIVE or time_ns < START_NS + recipe.silent_s * 1e9
        return {"source": source, "sent": state * np.nan if silent else sent}
    if spec.role is StreamRole.TACTILE:
        return {"force": np.full((2, 3, 1), (time_ns - START_NS) / 1e9, np.float32)}
    return {"position": state + (0.25 if spec.role is StreamRole.ACTION else 0.0)}


def write_episode(collection: Path, recipe: Recipe) -> tuple[Path, EpisodeInfo | None]:
    specs = _specs(recipe)
    writer = EpisodeWriter.create(
        collection,
        NewEpisode(
            start_ns=START_NS,
            utc_ns=1_700_000_000_000_000_000,
            task=recipe.task,
            collection_mode=recipe.mode,
            policy_id="act",
            station={"station": recipe.station},
            stream_specs=tuple(specs),
        ),
    )
    summaries = {}
    for spec in specs:
        stream = open_stream(writer.path, spec)
        image = isinstance(spec, ImageStreamSpec)
        for time_ns in stamps(recipe.camera_hz if image else spec.rate_hz, recipe.duration_s).tolist():
            second = (time_ns - START_NS) / 1e9
            if image and recipe.camera_gap and recipe.camera_gap[0] < second < recipe.camera_gap[1]:
                continue
            values = frame_at(time_ns, recipe) if image else _values(spec, time_ns, recipe)
            stream.append(time_ns, time_ns + 1000, values)
        summaries[spec.name] = stream.close()
    if not recipe.finish:
        writer._release()
        return writer.path, None
    stop_ns = START_NS + round(recipe.duration_s * 1e9) + 1_000_000
    return writer.path, writer.finish(stop_ns, summaries, recipe.outcome)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return tmp_path / "collection"


@pytest.fixture
def record(collection: Path) -> Callable[..., Path]:
    """Write an episode into the collection; keywords are those of the recipe."""

    def write(**changes: object) -> Path:
        return write_episode(collection, Recipe(**changes))[0]

    return write
