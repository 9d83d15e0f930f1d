"""The one checksum of the recorder: CRC-32C (Castagnoli), which Zarr's `crc32c` codec uses too."""

import google_crc32c


def crc32c(data: bytes) -> int:
    """CRC-32C of some bytes."""
    return int(google_crc32c.value(data))
