"""H.264 in MP4 as LeRobot reads it: constant rate, frame k at exactly k / fps, random access every second frame."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from numpy.typing import NDArray
from pydantic import Field

from recorder.errors import ExportError
from recorder.exporters.contract import Frozen

_NO_LOOKAHEAD = "rc-lookahead=0:mbtree=0:scenecut=0"
"""With a key frame every second frame, looking ahead decides nothing and costs a fifth of the time."""


class VideoOptions(Frozen):
    """How frames are compressed."""

    crf: Annotated[int, Field(ge=0, le=51)] = 23
    """Constant rate factor of x264; 0 is lossless, 23 its default."""
    preset: Literal["ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow"] = "veryfast"
    """Effort of x264; slower gives smaller files."""
    gop: Annotated[int, Field(ge=1, le=300)] = 2
    """Frames from one key frame to the next; few, because training reads frames at random."""


def pixel_format(height: int, width: int) -> str:
    """Choose the pixel format: 4:2:0 halves both sides, so a frame with an odd side keeps its full chroma instead."""
    return "yuv420p" if height % 2 == 0 and width % 2 == 0 else "yuv444p"


def encode_video(path: Path, frames: Iterable[tuple[NDArray[np.uint8], bool]], fps: int, options: VideoOptions) -> int:
    """Encode frames into a new file, with one thread so that the same frames always give the same bytes.

    Args:
        path: The file to write, in an existing folder.
        frames: (height, width, 3) uint8 RGB, and whether it is the frame before once more.
        fps: Frames a second [Hz].
        options: Compression.

    Returns:
        Number of frames.

    Raises:
        ExportError: The encoder or the container refuses.
    """
    try:
        return _encode(path, frames, fps, options)
    except av.error.FFmpegError as error:  # it does not survive the way back from a worker process
        raise ExportError(f"{path.name} cannot be encoded as {options.preset} H.264: {error}") from error


def _encode(path: Path, frames: Iterable[tuple[NDArray[np.uint8], bool]], fps: int, options: VideoOptions) -> int:
    count = 0
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = None
        for count, picture in enumerate(_pictures(frames), start=1):
            if stream is None:
                stream = _add_stream(container, picture, fps, options)
            picture.pts = count - 1
            picture.time_base = Fraction(1, fps)
            container.mux(stream.encode(picture))
        if stream is not None:
            container.mux(stream.encode(None))
    return count


def _pictures(frames: Iterable[tuple[NDArray[np.uint8], bool]]) -> Iterator[Any]:
    """Convert RGB to limited-range YUV by BT.601, and say so in the picture, so that red comes back red."""
    converter = VideoReformatter()
    picture: Any = None
    for frame, repeated in frames:
        if picture is None or not repeated:
            picture = converter.reformat(
                av.VideoFrame.from_numpy_buffer(np.ascontiguousarray(frame), format="rgb24"),
                format=pixel_format(*frame.shape[:2]),
                dst_colorspace=Colorspace.ITU601,
                dst_color_range=ColorRange.MPEG,
            )
        yield picture


def _add_stream(container: Any, picture: Any, fps: int, options: VideoOptions) -> Any:
    settings = {"preset": options.preset, "crf": str(options.crf), "bf": "0", "x264-params": _NO_LOOKAHEAD}
    stream = container.add_stream("libx264", rate=fps, options=settings)
    stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, picture.format.name
    stream.time_base = Fraction(1, fps)
    context = stream.codec_context
    context.gop_size = options.gop
    context.thread_count = 1
    context.colorspace = Colorspace.SMPTE170M
    context.color_range = ColorRange.MPEG
    return stream


def video_problems(path: Path, frames: int, fps: int, size: tuple[int, int]) -> list[str]:
    """Say what is wrong with a video: the file, its number of frames, their times, or the picture's (height, width)."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            times = sorted(
                packet.pts * packet.time_base for packet in container.demux(stream) if packet.pts is not None
            )
            container.seek(0)
            first = next(container.decode(stream))
    except (OSError, IndexError, StopIteration, av.error.FFmpegError) as error:
        return [f"{path.name} does not open as a video: {error}"]
    problems = []
    if len(times) != frames:
        problems.append(f"{path.name} has {len(times)} frames instead of {frames}")
    elif any(time != Fraction(index, fps) for index, time in enumerate(times)):
        problems.append(f"{path.name} has a frame that is not at its number / {fps}")
    if (first.height, first.width) != size:
        problems.append(f"{path.name} is {first.width}x{first.height} instead of {size[1]}x{size[0]}")
    return problems
