"""Opening and losing a serial port, explained."""

import errno
import os

import pytest
import serial

from drivers import clock
from drivers.servo.port import PortError, SerialPort


def fill(port: SerialPort) -> None:
    for _ in range(1000):
        port.write(bytes(4096))


def test_a_missing_port_is_explained(tmp_path):
    with pytest.raises(PortError, match=r"ttyX does not exist: plug the adapter in, .*`ls -l /dev/serial/by-id`"):
        SerialPort(str(tmp_path / "ttyX"), 1_000_000).open()


def test_missing_permission_is_explained(monkeypatch):
    def refuse(*_, **__):
        raise serial.SerialException(errno.EACCES, "Permission denied")

    monkeypatch.setattr(serial, "Serial", refuse)
    with pytest.raises(PortError, match=r"no permission .*/dev/ttyACM0: run `sudo usermod -aG dialout \$USER`"):
        SerialPort("/dev/ttyACM0", 1_000_000).open()


def test_a_second_opener_is_refused(line):
    first, second = SerialPort(line.server.path, 1_000_000), SerialPort(line.server.path, 1_000_000)
    first.open()
    first.open()
    try:
        with pytest.raises(PortError, match="is in use by another program: find it with `fuser -v"):
            second.open()
    finally:
        first.close()
    second.open()
    second.close()
    second.close()


def test_what_is_no_serial_port_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PortError, match="file cannot be opened"):
        SerialPort(str(tmp_path / "file"), 1_000_000).open()


def test_reading_ends_at_the_deadline(line):
    port = SerialPort(line.server.path, 1_000_000)
    port.open()
    before_ns = clock.now_ns()
    assert port.read(before_ns + 20_000_000) == b""
    assert clock.now_ns() >= before_ns + 20_000_000
    port.close()


def test_a_blocked_output_is_said():
    master, slave = os.openpty()
    port = SerialPort(os.ttyname(slave), 1_000_000)
    port.open()
    try:
        with pytest.raises(PortError, match="its output is blocked"):
            fill(port)
    finally:
        os.close(master)
        os.close(slave)
        port.close()
