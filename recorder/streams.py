"""What a stream is: one device channel with its own clock, described before its first sample."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

NumericDtype = Literal["bool", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldSpec(_Frozen):
    """One array of a numeric stream; its first dimension is `time`, the rest is `shape`."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    dtype: NumericDtype = "float64"
    shape: tuple[Annotated[int, Field(gt=0)], ...] = ()
    """Shape of one row; () for a scalar."""
    dims: tuple[str, ...] = ()
    """Name of each dimension of `shape`, for example ("joint",)."""
    unit: str | None = None
    """SI unit, for example "rad"; None for codes and flags."""
    labels: tuple[str, ...] | None = None
    """Names along the first dimension of `shape`, for example joint names."""
    codes: dict[str, int] | None = None
    """Meaning of a coded field: name -> value."""
    description: str = ""

    @model_validator(mode="after")
    def _dimensions_agree(self) -> "FieldSpec":
        if len(self.dims) != len(self.shape):
            raise ValueError(f"field {self.name}: {len(self.dims)} dims for shape {self.shape}")
        if self.labels is not None and (not self.shape or len(self.labels) != self.shape[0]):
            raise ValueError(f"field {self.name}: {len(self.labels)} labels for shape {self.shape}")
        if self.name in ("time", "received"):
            raise ValueError(f"field {self.name}: time and received are written for every stream")
        return self


class StreamRole(StrEnum):
    """What a stream is to a learner; an exporter chooses its inputs by role."""

    STATE = "state"
    """Measured joints of a follower."""
    ACTION = "action"
    """What a foreign controller commanded, in a passive station."""
    OPERATOR = "operator"
    """What the human's device said."""
    CONTROL = "control"
    """The control loop's own record, one row a tick."""
    CAMERA = "camera"
    """RGB frames."""
    DEPTH = "depth"
    """Frames of distances."""
    TACTILE = "tactile"
    OTHER = "other"


class StreamSpec(_Frozen):
    """What is common to numeric and image streams."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    """Group name in the episode."""
    role: StreamRole = StreamRole.OTHER
    rate_hz: Annotated[float, Field(gt=0)]
    """Expected rate [Hz]; gaps are judged against it."""
    device: dict[str, object] = Field(default_factory=dict)
    """Driver, model, serial and the like, JSON-ready."""
    stamp_source: str = "host"
    """Where `time` comes from: device, header, host or receive."""
    latency_s: float = 0.0
    """Already subtracted from `time` [s]."""


class NumericStreamSpec(StreamSpec):
    """A stream of numbers: one memory-mapped array for each field."""

    kind: Literal["numeric"] = "numeric"
    fields: Annotated[tuple[FieldSpec, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> "NumericStreamSpec":
        names = [field.name for field in self.fields]
        if len(set(names)) != len(names):
            raise ValueError(f"stream {self.name}: field names repeat: {names}")
        return self

    @model_validator(mode="after")
    def _dimensions_have_one_length(self) -> "NumericStreamSpec":
        lengths: dict[str, int] = {}
        for field in self.fields:
            for dim, length in zip(field.dims, field.shape, strict=True):
                if dim == "time" or lengths.setdefault(dim, length) != length:
                    raise ValueError(
                        f"stream {self.name}: field {field.name}: dimension {dim} has another length already"
                    )
        return self


class FrameEncoding(StrEnum):
    """How the frames of a stream are stored."""

    JPEG = "jpeg"
    """RGB, one JPEG each."""
    RAW = "raw"
    """RGB, the pixels as they are."""
    DEPTH16 = "depth16"
    """16-bit distances, compressed without loss."""


class ImageStreamSpec(StreamSpec):
    """A stream of frames: RGB as JPEG or as it is, or 16-bit depth."""

    kind: Literal["image"] = "image"
    role: StreamRole = StreamRole.CAMERA
    height: Annotated[int, Field(gt=0)]
    """[px]."""
    width: Annotated[int, Field(gt=0)]
    """[px]."""
    quality: Annotated[int, Field(ge=1, le=100)] = 90
    """JPEG quality of frames that arrive as pixels; a frame that arrives as JPEG is kept byte for byte."""
    encoding: FrameEncoding = FrameEncoding.JPEG
    unit: Literal["mm", "m"] | None = None
    """Unit of depth; None for RGB."""
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """One step of a stored depth value, in `unit`."""

    @model_validator(mode="after")
    def _depth_has_a_unit(self) -> "ImageStreamSpec":
        depth = self.encoding is FrameEncoding.DEPTH16
        if depth and (self.unit is None or self.role is StreamRole.CAMERA):
            raise ValueError(f"stream {self.name}: encoding depth16 needs a unit, mm or m, and the role depth or other")
        if not depth and (self.unit is not None or self.scale != 1.0 or self.role is StreamRole.DEPTH):
            raise ValueError(f"stream {self.name}: unit, scale and the role depth are for the encoding depth16 only")
        return self


AnyStreamSpec = Annotated[NumericStreamSpec | ImageStreamSpec, Field(discriminator="kind")]
