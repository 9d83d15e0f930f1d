"""What a learner gets of an episode: its streams by role, as columns with fixed names and sizes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recorder.align import FloatArray, Int64Array
from recorder.errors import ExportError
from recorder.reader import Episode, ImageStream, NumericStream
from recorder.segments import CollectionMode
from recorder.streams import FieldSpec, StreamRole


@dataclass(frozen=True, slots=True)
class Vector:
    """One field of a numeric stream, as a flat vector."""

    stream: NumericStream
    field: FieldSpec

    @property
    def size(self) -> int:
        """Numbers in a row."""
        return int(np.prod(self.field.shape, dtype=np.int64))

    def names(self, *, qualified: bool) -> list[str]:
        """Name the numbers: the field's labels, else the field's name and an index.

        Args:
            qualified: Put the stream's name in front, because several streams share a column.
        """
        labels = self.field.labels if self.field.labels is not None and len(self.field.shape) == 1 else None
        plain = list(labels) if labels else [f"{self.field.name}_{index}" for index in range(self.size)]
        return [f"{self.stream.spec.name}.{name}" for name in plain] if qualified else plain

    def usable(self) -> Int64Array:
        """Give the indices of the samples in which every number is finite."""
        values = self.stream.field(self.field.name)
        finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
        return np.flatnonzero(finite).astype(np.int64)

    def values(self) -> FloatArray:
        """Give all samples, (samples, size), float64."""
        values: FloatArray = np.asarray(self.stream.field(self.field.name), np.float64).reshape(-1, self.size)
        return values


@dataclass(frozen=True, slots=True)
class Inputs:
    """The streams of one episode that go into a training set, each group ordered by stream name."""

    episode: Episode
    state: tuple[Vector, ...]
    """Measured joints; concatenated into one column."""
    action: tuple[Vector, ...]
    """What was commanded: the control loop's `sent`, or a foreign controller's commands in a passive episode."""
    control: NumericStream | None
    """Who commanded; a passive episode may lack it."""
    cameras: tuple[ImageStream, ...]
    tactile: tuple[Vector, ...]

    @property
    def passive(self) -> bool:
        """Whether a foreign controller commanded."""
        return self.episode.info.collection_mode == CollectionMode.PASSIVE


def inputs_of(episode: Episode) -> Inputs:
    """Choose an episode's streams by role.

    Raises:
        ExportError: There is no state, or nothing that says what was commanded.
    """
    state = _vectors(episode.by_role(StreamRole.STATE), "position")
    if not state:
        raise ExportError("it has no state stream: none of its streams has the role state and a field position")
    control = next(iter(_numeric(episode.by_role(StreamRole.CONTROL))), None)
    if control is not None and all(field.name != "source" for field in control.spec.fields):
        raise ExportError(f"its control stream {control.spec.name} has no field source")
    if episode.info.collection_mode == CollectionMode.PASSIVE:
        action = _vectors(episode.by_role(StreamRole.ACTION), "position")
        missing = "it is passive and none of its streams has the role action and a field position"
    else:
        action = _vectors([control] if control is not None else [], "sent")
        missing = "it has no control stream with a field sent, so what was commanded is not known"
    if not action:
        raise ExportError(missing)
    cameras = [stream for stream in episode.by_role(StreamRole.CAMERA) if isinstance(stream, ImageStream)]
    return Inputs(
        episode=episode,
        state=state,
        action=action,
        control=control,
        cameras=tuple(sorted(cameras, key=lambda stream: stream.spec.name)),
        tactile=_vectors(episode.by_role(StreamRole.TACTILE), "force"),
    )


def _numeric(streams: Sequence[NumericStream | ImageStream]) -> list[NumericStream]:
    found = [stream for stream in streams if isinstance(stream, NumericStream)]
    return sorted(found, key=lambda stream: stream.spec.name)


def _vectors(streams: Sequence[NumericStream | ImageStream], name: str) -> tuple[Vector, ...]:
    return tuple(
        Vector(stream, field) for stream in _numeric(streams) for field in stream.spec.fields if field.name == name
    )


def joined_names(vectors: Sequence[Vector]) -> list[str]:
    """Name the numbers of vectors that share a column."""
    return [name for vector in vectors for name in vector.names(qualified=len(vectors) > 1)]
