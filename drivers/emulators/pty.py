"""Serves an emulated device behind a pseudo terminal that programs open like a serial port.

A pseudo terminal has no baud rate, so the time that bytes take on the wire is kept here. One thread waits for bytes
and for the moments when replies are due. A late reply holds up what the same device sends after it, as in reality, but
not the replies of others.
"""

import contextlib
import heapq
import logging
import os
import select
import termios
import threading
import tty
from pathlib import Path
from typing import Protocol

from drivers import clock
from drivers.emulators.faults import FaultInjector, Reply
from drivers.errors import DriverError

log = logging.getLogger(__name__)

BITS_PER_BYTE = 10
CHUNK = 4096
STOP_TIMEOUT_S = 5.0


class Emulator(Protocol):
    """A device at the other end of a serial line."""

    def feed(self, data: bytes, now_ns: int) -> list[Reply]:
        """Take bytes that the host sent; return the replies that they cause, in order."""
        ...


class PtyServer:
    """One emulator behind one pseudo terminal."""

    def __init__(
        self, emulator: Emulator, *, link: Path | None = None, baud: int | None = None, echo: bool = False
    ) -> None:
        """Prepare; nothing is opened.

        Args:
            emulator: Answers what the host sends.
            link: Symbolic link to the terminal, made by `start` and removed by `stop`.
            baud: Keep the time of a line of this speed; None answers at once.
            echo: Repeat what the host sends, as some half-duplex adapters do.
        """
        self.emulator = emulator
        self.faults = FaultInjector()
        self.echo = echo
        self._link = link
        self._ns_per_byte = 0 if baud is None else round(BITS_PER_BYTE * 1e9 / baud)
        self._path: str | None = None
        self._fds: list[int] = []
        self._wake = -1
        self._thread: threading.Thread | None = None
        self._due: list[tuple[int, int, bytes]] = []
        self._line_free_ns = 0
        self._last_due_ns: dict[int, int] = {}
        self._order = 0

    @property
    def path(self) -> str:
        """What a program opens: the link if there is one.

        Raises:
            DriverError: The server is not started.
        """
        if self._path is None:
            raise DriverError("the emulator has no port before it is started")
        return self._path if self._link is None else str(self._link)

    def start(self) -> None:
        """Open the terminal, make the link and serve in a thread.

        Raises:
            DriverError: The link's path is taken by something else than a link, or cannot be made.
        """
        if self._thread is not None:
            return
        master, slave = os.openpty()
        tty.setraw(master, termios.TCSANOW)
        tty.setraw(slave, termios.TCSANOW)
        os.set_blocking(master, False)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK)
        self._fds = [master, slave, self._wake]
        self._path = os.ttyname(slave)
        try:
            self._make_link()
        except OSError as error:
            self._release()
            raise DriverError(f"the emulator's link {self._link} cannot be made: {error.strerror}") from error
        self._thread = threading.Thread(target=self._serve, args=(master,), name="pty_server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and remove terminal and link; to the program that has it open this is an unplugged cable."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        os.eventfd_write(self._wake, 1)
        thread.join(STOP_TIMEOUT_S)
        if thread.is_alive():
            log.error("the emulator at %s did not stop within %.0f s", self._path, STOP_TIMEOUT_S)
            return
        self._release()

    def _make_link(self) -> None:
        if self._link is None or self._path is None:
            return
        if self._link.is_symlink():
            self._link.unlink()  # left behind by an emulator that was killed
        self._link.symlink_to(self._path)

    def _release(self) -> None:
        if self._link is not None and self._link.is_symlink() and str(self._link.readlink()) == self._path:
            self._link.unlink()
        for fd in self._fds:
            os.close(fd)
        self._fds, self._path, self._due = [], None, []

    def _serve(self, master: int) -> None:
        while True:
            timeout_s = None
            if self._due:
                timeout_s = max(0.0, (self._due[0][0] - clock.now_ns()) / 1e9)
            ready, _, _ = select.select([master, self._wake], [], [], timeout_s)
            if self._wake in ready:
                return
            if master in ready:
                self._receive(master)
            self._send_due(master)

    def _receive(self, master: int) -> None:
        data = os.read(master, CHUNK)
        now_ns = clock.now_ns()
        self._line_free_ns = max(self._line_free_ns, now_ns) + len(data) * self._ns_per_byte
        if self.echo:
            self._schedule(self._line_free_ns, data)
        for intended in self.emulator.feed(data, now_ns):
            for reply in self.faults.apply(intended):
                self._line_free_ns += round(reply.delay_s * 1e9) + len(reply.data) * self._ns_per_byte
                due_ns = max(self._line_free_ns + round(reply.late_s * 1e9), self._last_due_ns.get(reply.source, 0))
                self._last_due_ns[reply.source] = due_ns
                self._schedule(due_ns, reply.data)

    def _schedule(self, due_ns: int, data: bytes) -> None:
        self._order += 1
        heapq.heappush(self._due, (due_ns, self._order, data))

    def _send_due(self, master: int) -> None:
        """Send all that is due in one write: a real adapter delivers whole USB packets as well."""
        now_ns = clock.now_ns()
        pieces = []
        while self._due and self._due[0][0] <= now_ns:
            pieces.append(heapq.heappop(self._due)[2])
        if pieces:
            with contextlib.suppress(BlockingIOError):  # nobody reads: a real line loses the bytes as well
                os.write(master, b"".join(pieces))
