"""The one way to append to a stream, in whatever process its device is read.

Streams share nothing on disk, so each process opens and closes its own; the episode only has to exist.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from recorder import committer, stream_files
from recorder.episode import StreamSummary
from recorder.image_writer import ImageStreamWriter
from recorder.numeric_writer import NumericStreamWriter
from recorder.stream_writer import FileStreamWriter, StreamWriter, Values
from recorder.streams import ImageStreamSpec, NumericStreamSpec

__all__ = ["StreamWriter", "Values", "close_all", "open_stream"]


def open_stream(episode_dir: Path, spec: NumericStreamSpec | ImageStreamSpec) -> StreamWriter:
    """Make a new stream in an episode and append to it.

    A background thread of this process, shared by its streams, commits it about once a second until it is closed. Open
    streams after a fork, not before: a forked child has no such thread.

    Args:
        episode_dir: Path of the episode.
        spec: What the stream is.

    Raises:
        EpisodeNotFoundError: There is no episode at that path.
        RecorderError: The episode has this stream already.
        StreamStorageError: The disk is full.
    """
    folder = stream_files.create(Path(episode_dir), spec)
    writer: FileStreamWriter
    writer = ImageStreamWriter(spec, folder) if isinstance(spec, ImageStreamSpec) else NumericStreamWriter(spec, folder)
    writer.start(committer.shared)
    return writer


def close_all(streams: Mapping[str, StreamWriter]) -> dict[str, StreamSummary]:
    """Close several streams at once, which waits for the disk once rather than for each of them.

    Returns:
        The summary of each stream, as `EpisodeWriter.finish` takes them.

    Raises:
        StreamStorageError: The disk refused the last commit of a stream; all others are closed nevertheless.
    """
    if not streams:
        return {}
    with ThreadPoolExecutor(len(streams), thread_name_prefix="recorder-close") as pool:
        closing = {name: pool.submit(stream.close) for name, stream in streams.items()}
    return {name: future.result() for name, future in closing.items()}
