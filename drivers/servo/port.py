"""One serial port, opened for ourselves alone, read until a deadline without spinning.

pyserial opens and configures the port; reading and writing go to its file descriptor, because changing pyserial's
timeout reconfigures the line each time.
"""

import contextlib
import errno
import fcntl
import logging
import math
import os
import select
import termios
from pathlib import Path

import serial

from drivers import clock
from drivers.errors import DriverError

log = logging.getLogger(__name__)

CHUNK = 4096
LATENCY_S = 0.010
"""Time allowed for adapter, USB and scheduler on top of the wire [s]."""
SLOW_LATENCY_S = 0.026
"""The same for an adapter that may collect bytes for up to 16 ms [s]."""


class PortError(DriverError):
    """The serial port cannot be opened, or went away."""


def _open_failure(path: str, error: OSError) -> PortError:
    """Say why the port did not open and what to do."""
    match error.errno:
        case errno.ENOENT | errno.ENODEV | errno.ENXIO:
            return PortError(
                f"serial port {path} does not exist: plug the adapter in, and see what there is with "
                "`ls -l /dev/serial/by-id`"
            )
        case errno.EACCES | errno.EPERM:
            return PortError(
                f"no permission to open serial port {path}: run `sudo usermod -aG dialout $USER`, then log out and in"
            )
        case errno.EBUSY | errno.EAGAIN:
            return PortError(f"serial port {path} is in use by another program: find it with `fuser -v {path}`")
        case _:
            return PortError(f"serial port {path} cannot be opened: {error}")


class SerialPort:
    """A serial line of 8 data bits, no parity, one stop bit.

    Used by one thread at a time; `close` is safe at any time and any number of times.
    """

    def __init__(self, path: str, baud: int) -> None:
        """Remember where; nothing is opened."""
        self.path = path
        self.baud = baud
        self.latency_s = LATENCY_S
        """How long a reply may take on top of the wire [s]."""
        self.latency_note = ""
        """Why the adapter's low latency mode is off, empty if it is on or not needed."""
        self._serial: serial.Serial | None = None
        self._poll = select.poll()

    @property
    def is_open(self) -> bool:
        """Whether the port is open."""
        return self._serial is not None

    def open(self) -> None:
        """Open exclusively and empty the input.

        Raises:
            PortError: Missing, not permitted, in use, or not a serial port; the text says what to run.
        """
        if self._serial is not None:
            return
        try:
            port = serial.Serial(self.path, self.baud, timeout=0, write_timeout=0, exclusive=True)
        except (OSError, ValueError) as error:  # SerialException is an OSError
            raise _open_failure(self.path, error if isinstance(error, OSError) else OSError(str(error))) from error
        self._serial = port
        fd = self._fd
        if not self._is_pseudo_terminal:
            fcntl.ioctl(fd, termios.TIOCEXCL)  # flock binds only those who ask; this refuses every other opener
        self._lower_latency(port)
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def _lower_latency(self, port: serial.Serial) -> None:
        """Turn the 16 ms timer of FTDI-like adapters down; ttyACM and pseudo terminals have none."""
        self.latency_s, self.latency_note = LATENCY_S, ""
        try:
            port.set_low_latency_mode(True)
        except (OSError, ValueError) as error:
            if Path(self.path).resolve().name.startswith("ttyUSB"):
                self.latency_s = SLOW_LATENCY_S
                self.latency_note = f"low latency mode is not available: {error}"
                log.warning("serial port %s: %s", self.path, self.latency_note)

    @property
    def _is_pseudo_terminal(self) -> bool:
        """A pseudo terminal stays exclusive after its opener was killed, so it must not be made so."""
        return Path(self.path).resolve().is_relative_to("/dev/pts")

    def close(self) -> None:
        """Release the port."""
        if self._serial is None:
            return
        with contextlib.suppress(OSError, termios.error):  # an unplugged port has nothing left to release
            if not self._is_pseudo_terminal:
                fcntl.ioctl(self._fd, termios.TIOCNXCL)
        port, self._serial = self._serial, None
        try:
            port.close()
        except (OSError, termios.error) as error:
            log.warning("serial port %s did not close cleanly: %s", self.path, error)

    def write(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            PortError: Not open, unplugged, or the line takes nothing.
        """
        try:
            sent = os.write(self._fd, data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            raise self._gone(error) from error
        if sent != len(data):
            raise PortError(f"serial port {self.path} took {sent} of {len(data)} bytes: its output is blocked")

    def read(self, deadline_ns: int) -> bytes:
        """Return what has arrived as soon as anything has; empty when `deadline_ns` passed without a byte.

        Raises:
            PortError: Not open, or unplugged.
        """
        fd = self._fd
        wait_ms = max(0, math.ceil((deadline_ns - clock.now_ns()) / 1e6))
        try:
            if not self._poll.poll(wait_ms):
                return b""
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error) from error
        if not data:
            raise self._gone(None)
        return data

    def drain(self) -> bytes:
        """Return what has arrived without waiting.

        Raises:
            PortError: Not open, or unplugged.
        """
        arrived = b""
        while data := self._read_now():
            arrived += data
        return arrived

    def _read_now(self) -> bytes:
        try:
            return os.read(self._fd, CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._gone(error) from error

    @property
    def _fd(self) -> int:
        if self._serial is None or self._serial.fd is None:
            raise PortError(f"serial port {self.path} is not open")
        return int(self._serial.fd)

    def _gone(self, error: OSError | None) -> PortError:
        return PortError(
            f"serial port {self.path} was unplugged or its adapter was reset ({error or 'end of input'}): "
            "check cable and power, then connect again"
        )
