"""What a driver may raise. Every message says what is wrong, where, the value, and what is allowed or to be done."""

from collections.abc import Mapping


class DriverError(Exception):
    """Base of all errors that a driver raises on purpose; its text is one clear sentence for the operator."""


class DeviceConfigError(DriverError):
    """The configuration asks for something that this device cannot do."""


class NotConnectedError(DriverError):
    """One or more devices did not connect; carries every failure, not only the first."""

    def __init__(self, failures: Mapping[str, Exception]) -> None:
        """Keep `failures`, device name -> cause."""
        self.failures = dict(failures)
        lines = [f"{name}: {cause}" for name, cause in self.failures.items()]
        super().__init__(lines[0] if len(lines) == 1 else f"{len(lines)} devices failed: " + "; ".join(lines))


class StaleSampleError(DriverError):
    """A device has not delivered for longer than allowed."""

    def __init__(self, device: str, age_s: float, limit_s: float) -> None:
        """Say that `device` has been silent for `age_s`, above `limit_s` [s]."""
        self.device, self.age_s, self.limit_s = device, age_s, limit_s
        super().__init__(f"{device} has delivered nothing for {age_s:.2f} s (limit {limit_s:.2f} s)")


class CommandRejectedError(DriverError):
    """A command had the wrong length, an unknown joint or a value that is not finite, and was not sent."""
