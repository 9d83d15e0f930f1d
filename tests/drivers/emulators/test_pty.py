"""A device behind a terminal: its link, its timing, its end."""

import os
import select
import time

import pytest

from drivers.emulators.faults import Fault, FaultKind, Reply
from drivers.emulators.pty import PtyServer
from drivers.errors import DriverError


class Repeater:
    """Two devices: one answers each chunk with itself, the other in capitals."""

    def feed(self, data: bytes, now_ns: int) -> list[Reply]:
        return [Reply(data, source=1), Reply(data.upper(), delay_s=0.002, source=2)]


def read_exactly(fd: int, count: int, timeout_s: float = 5.0) -> bytes:
    data, deadline = b"", time.monotonic() + timeout_s
    while len(data) < count:
        assert select.select([fd], [], [], deadline - time.monotonic())[0], f"only {data!r} came"
        data += os.read(fd, count - len(data))
    return data


@pytest.fixture
def serve():
    servers: list[tuple[PtyServer, list[int]]] = []

    def start(**options: object) -> tuple[PtyServer, int]:
        server = PtyServer(Repeater(), **options)
        server.start()
        fd = os.open(server.path, os.O_RDWR | os.O_NOCTTY)
        servers.append((server, [fd]))
        return server, fd

    yield start
    for server, fds in servers:
        server.stop()
        for fd in fds:
            os.close(fd)


def test_every_byte_value_passes_unchanged(serve):
    _, fd = serve()
    data = bytes(range(256))
    os.write(fd, data)
    assert read_exactly(fd, 512) == data + data.upper()


def test_the_link_comes_and_goes(serve, tmp_path):
    link = tmp_path / "tty"
    server, _ = serve(link=link)
    assert server.path == str(link)
    assert link.resolve().is_relative_to("/dev/pts")
    server.stop()
    server.stop()
    assert not os.path.lexists(link)
    with pytest.raises(DriverError, match="before it is started"):
        server.path  # noqa: B018


def test_a_link_left_behind_is_replaced_and_a_file_is_not(serve, tmp_path):
    stale = tmp_path / "stale"
    stale.symlink_to("/dev/pts/999999")
    serve(link=stale)
    precious = tmp_path / "precious"
    precious.write_text("data")
    with pytest.raises(DriverError, match="precious cannot be made: File exists"):
        PtyServer(Repeater(), link=precious).start()
    assert precious.read_text() == "data"


def test_bytes_take_their_time_on_the_wire(serve):
    _, fd = serve(baud=10_000)  # 1 ms per byte
    before = time.monotonic()
    os.write(fd, b"ab")
    assert read_exactly(fd, 4) == b"abAB"
    assert time.monotonic() - before >= 0.008  # 2 there, 2 back, 2 pause, 2 back


def test_a_late_reply_lets_other_devices_pass_but_not_its_own_next(serve):
    server, fd = serve()
    server.faults.inject(Fault(FaultKind.LATE, delay_s=0.2))
    os.write(fd, b"ab")
    assert read_exactly(fd, 2) == b"AB"
    os.write(fd, b"cd")
    assert read_exactly(fd, 6) == b"CDabcd"


def test_an_echo_comes_before_the_reply(serve):
    _, fd = serve(echo=True)
    os.write(fd, b"ab")
    assert read_exactly(fd, 6) == b"ababAB"


def test_stopping_looks_like_an_unplugged_cable(serve):
    server, fd = serve()
    server.stop()
    assert select.select([fd], [], [], 5.0)[0]
    with pytest.raises(OSError, match="Input/output error"):
        os.write(fd, b"a")


def test_a_closed_and_reopened_port_goes_on(serve):
    server, fd = serve()
    os.write(fd, b"a")
    assert read_exactly(fd, 2) == b"aA"
    again = os.open(server.path, os.O_RDWR | os.O_NOCTTY)
    os.write(again, b"b")
    assert read_exactly(again, 2) == b"bB"
    os.close(again)
