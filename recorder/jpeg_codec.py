"""Teaches the Zarr library the codec of our images where nothing else has: on Python 3.11.

From Python 3.12 on, imagecodecs 2026.10 with imagecodecs-zarr brings `imagecodecs_jpeg` itself. What stands here reads
and writes the same bytes under the same name. Only whoever reads through Zarr imports this module, as it imports zarr.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Self

import imagecodecs
import numpy as np
import zarr.registry
from zarr.abc.codec import ArrayBytesCodec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, NDBuffer

NAME = "imagecodecs_jpeg"


@dataclass(frozen=True)
class JpegCodec(ArrayBytesCodec):
    """One JPEG for each chunk; a chunk is one RGB frame, (1, H, W, 3) uint8."""

    level: int | None = None
    is_fixed_size = False

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Take the codec's configuration, as Zarr's metadata has it."""
        return cls(**data.get("configuration", {}))

    def to_dict(self) -> dict[str, Any]:
        """Give the codec's configuration, as Zarr's metadata has it."""
        return {"name": NAME, "configuration": {} if self.level is None else {"level": self.level}}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Not known before encoding.

        Raises:
            NotImplementedError: Always; Zarr asks only codecs of a fixed size.
        """
        raise NotImplementedError

    async def _decode_single(self, chunk_bytes: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        pixels = await asyncio.to_thread(imagecodecs.jpeg8_decode, chunk_bytes.to_bytes())
        return chunk_spec.prototype.nd_buffer.from_numpy_array(pixels.reshape(chunk_spec.shape))

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> Buffer:
        pixels = np.ascontiguousarray(np.squeeze(chunk_array.as_numpy_array(), axis=0))
        data = await asyncio.to_thread(imagecodecs.jpeg8_encode, pixels, level=self.level)
        return chunk_spec.prototype.buffer.from_bytes(data)


def register() -> None:
    """Make `zarr.open` read our images in this process; does nothing where the codec is known already."""
    try:
        zarr.registry.get_codec_class(NAME)
    except KeyError:
        zarr.registry.register_codec(NAME, JpegCodec)
