"""What the station raises on purpose: one clear sentence for the operator."""


class StationError(Exception):
    """Base of the station's errors."""


class StationFileError(StationError, ValueError):
    """The station file is missing or wrong; the sentence names file, field, value and what is allowed."""


class RequestRefusedError(StationError):
    """A request is impossible now; the sentence says why."""
