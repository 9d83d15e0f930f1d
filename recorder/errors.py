"""What the recorder raises: one clear sentence, with the episode or file and the value."""


class RecorderError(Exception):
    """Base of all errors that the recorder raises on purpose."""


class EpisodeNotFoundError(RecorderError, FileNotFoundError):
    """There is no episode or collection at that path."""

    def __str__(self) -> str:
        """Give the sentence alone, without FileNotFoundError's errno form."""
        return str(self.args[0])


class EpisodeFormatError(RecorderError, ValueError):
    """What is on disk is not an episode of a schema that this version reads."""


class StreamValueError(RecorderError, ValueError):
    """A sample does not fit its stream: wrong field, shape, dtype or size. Nothing of it was written."""


class ExportError(RecorderError):
    """An export cannot be made as asked; nothing half-written is left."""


class AlignmentError(ExportError):
    """Streams cannot be brought to one clock as asked."""


class StreamStorageError(RecorderError, OSError):
    """The disk did not take a sample or a commit; what was appended before is kept."""

    def __str__(self) -> str:
        """Give the sentence alone, without OSError's errno form."""
        return str(self.args[0])


class EpisodeBusyError(RecorderError):
    """Another live process is writing this episode or stream."""


class LabelError(RecorderError, ValueError):
    """A label or a trim cannot be given as asked; nothing of it was written."""


class MergeError(RecorderError):
    """Collections cannot be merged as asked."""
