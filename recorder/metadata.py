"""Zarr v3 metadata documents of streams, built and read as plain JSON so that recording needs no Zarr library.

Formats: Zarr core specification v3 (group, array, regular grid, `bytes`, `crc32c`, `sharding_indexed`), and the
`imagecodecs_jpeg` codec as imagecodecs 2026.10 publishes it. Attributes follow CF where CF has a word: `units`,
`long_name`, `flag_values`, `flag_meanings`, `scale_factor` (depth whose steps are not one unit; xarray applies it by
itself). `units` of stamps is "ns", which no reader takes for a calendar.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from recorder import layout
from recorder.encodings import encoding_of, frame_shape
from recorder.errors import EpisodeFormatError
from recorder.streams import AnyStreamSpec, FieldSpec, ImageStreamSpec, NumericStreamSpec

TIME = "time"
RECEIVED = "received"
IMAGE = "image"
DROPPED = "dropped_samples"
"""Attribute of `time`: samples known to be lost before they reached the recorder; absent if none."""
FRAMES_PER_SHARD = 256
CHUNK_SECONDS = 60
"""A chunk of numbers holds at least so many seconds at the expected rate, and less than twice that."""
SMALLEST_CHUNK = 256
RESERVED_PART = 8
"""Blocks are reserved for one part in so many of a chunk at a time: about eight seconds."""
_SPEC: TypeAdapter[NumericStreamSpec | ImageStreamSpec] = TypeAdapter(AnyStreamSpec)
_STAMPS = {
    TIME: "When the sample was true, CLOCK_MONOTONIC of the host",
    RECEIVED: "When the sample reached the host, CLOCK_MONOTONIC of the host",
}


@dataclass(frozen=True)
class ArrayLayout:
    """One array of a stream: its rows, its files, and its metadata document at length zero."""

    name: str
    dtype: str
    row_shape: tuple[int, ...]
    chunk_rows: int
    document: dict[str, Any]

    def chunk_path(self, folder: Path, number: int) -> Path:
        """File of this chunk or shard of the array in `folder`."""
        return layout.chunk_path(folder, number, 1 + len(self.row_shape))

    def encode(self, rows: int, drops: int = 0) -> bytes:
        """The metadata document at a length of `rows`; of the stamps it also says how many samples were dropped."""
        document = {**self.document, "shape": [rows, *self.row_shape]}
        if drops and self.name == TIME:
            document["attributes"] = {**document["attributes"], DROPPED: drops}
        return json.dumps(document, allow_nan=False).encode()


def array_layouts(spec: NumericStreamSpec | ImageStreamSpec) -> tuple[ArrayLayout, ...]:
    """Every array of a stream: the two stamps first, then its fields or its frames."""
    rows = chunk_rows(spec.rate_hz)
    stamps = tuple(
        _numeric(FieldSpec(name="stamp", dtype="int64", unit="ns", description=text), name, rows)
        for name, text in _STAMPS.items()
    )
    if isinstance(spec, ImageStreamSpec):
        return (*stamps, _frames(spec))
    return (*stamps, *(_numeric(field, field.name, rows) for field in spec.fields))


def chunk_rows(rate_hz: float) -> int:
    """Rows of one chunk file of numbers at a rate: a power of two, a minute or more [rows]."""
    return max(SMALLEST_CHUNK, 1 << (max(1, round(rate_hz * CHUNK_SECONDS)) - 1).bit_length())


def _array(shape: tuple[int, ...], dtype: str, chunk: int, dims: tuple[str, ...]) -> dict[str, Any]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [0, *shape],
        "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk, *shape]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": False if dtype == "bool" else 0,
        "dimension_names": ["time", *dims],
        "storage_transformers": [],
    }


def _bytes_codec(dtype: str) -> dict[str, Any]:
    if dtype in ("bool", "uint8"):
        return {"name": "bytes"}
    return {"name": "bytes", "configuration": {"endian": "little"}}


def _numeric(field: FieldSpec, name: str, rows: int) -> ArrayLayout:
    document = _array(field.shape, field.dtype, rows, field.dims)
    document["codecs"] = [_bytes_codec(field.dtype)]
    document["attributes"] = _attributes(field)
    return ArrayLayout(name, field.dtype, field.shape, rows, document)


def _attributes(field: FieldSpec) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if field.description:
        attributes["long_name"] = field.description
    if field.unit is not None:
        attributes["units"] = field.unit
    if field.labels is not None:
        attributes["labels"] = list(field.labels)
    if field.codes is not None:
        attributes["flag_values"] = list(field.codes.values())
        attributes["flag_meanings"] = " ".join(field.codes)
    return attributes


def _frames(spec: ImageStreamSpec) -> ArrayLayout:
    encoding, shape = encoding_of(spec), frame_shape(spec)
    document = _array(shape, encoding.dtype, FRAMES_PER_SHARD, encoding.dims)
    sharding = {
        "chunk_shape": [1, *shape],
        "codecs": encoding.codecs(spec),
        "index_codecs": [_bytes_codec("uint64"), {"name": "crc32c"}],
        "index_location": "end",
    }
    document["codecs"] = [{"name": "sharding_indexed", "configuration": sharding}]
    document["attributes"] = {"long_name": encoding.long_name}
    if spec.unit is not None:
        document["attributes"]["units"] = spec.unit
    if spec.scale != 1.0:
        document["attributes"]["scale_factor"] = spec.scale
    return ArrayLayout(IMAGE, encoding.dtype, shape, FRAMES_PER_SHARD, document)


def encode_group(attributes: Mapping[str, Any], members: Mapping[str, Any] | None = None) -> bytes:
    """The metadata document of a group.

    Args:
        attributes: Its attributes.
        members: Metadata documents of all groups and arrays below it by path, repeated in the group so that readers
            open it with one look (Zarr's inline consolidated metadata, which xarray asks for); None while they change.
    """
    document = {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}
    if members is not None:
        document["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": dict(members)}
    return json.dumps(document, allow_nan=False).encode()


def read_document(node: Path) -> dict[str, Any]:
    """The metadata document of a group or array.

    Raises:
        EpisodeFormatError: There is none, or it is not a JSON object.
    """
    path = layout.metadata_path(node)
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise EpisodeFormatError(f"{path} is missing") from None
    except (OSError, ValueError) as error:
        raise EpisodeFormatError(f"{path} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise EpisodeFormatError(f"{path} holds no JSON object")
    return document


def read_spec(stream: Path) -> NumericStreamSpec | ImageStreamSpec:
    """The description of the stream at `stream`, from its group's attributes.

    Raises:
        EpisodeFormatError: The group is missing or does not describe a stream.
    """
    attributes = read_document(stream).get("attributes")
    try:
        return _SPEC.validate_python(attributes)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "attributes"
        raise EpisodeFormatError(f"{stream} describes no stream: {place}: {first['msg']}") from error


def read_rows(stream: Path, name: str) -> int:
    """Length of one array of a stream as its metadata says [rows].

    Raises:
        EpisodeFormatError: The array is missing or has no length.
    """
    shape = read_document(stream / name).get("shape")
    if not isinstance(shape, list) or not shape or not isinstance(shape[0], int):
        raise EpisodeFormatError(f"{stream / name}: the metadata gives no shape")
    return shape[0]


def read_drops(stream: Path) -> int:
    """Dropped samples as the metadata of a stream's stamps says; 0 if it says nothing or cannot be read."""
    try:
        attributes = read_document(stream / TIME).get("attributes")
    except EpisodeFormatError:
        return 0
    drops = attributes.get(DROPPED, 0) if isinstance(attributes, dict) else 0
    return drops if isinstance(drops, int) else 0
