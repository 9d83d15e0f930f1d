"""The program around an emulated servo bus: options, the hand on standard input, an orderly end."""

import argparse
import json
import os
import select
import signal
import sys
from pathlib import Path

from drivers.emulators.pty import PtyServer
from drivers.emulators.servo_bus import EmulatedServoBus, Servo
from drivers.errors import DriverError

MOST_JOINTS = 250


def option_parser(program: str, description: str, baud: int) -> argparse.ArgumentParser:
    """Return the options that every emulated arm takes."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--joints", type=_joints, default=6, help="number of servos, ids 1, 2, ... (default 6)")
    parser.add_argument("--pty-link", type=Path, required=True, help="where to put the link to the serial port")
    parser.add_argument("--baud", type=_positive, default=baud, help=f"speed whose timing is kept (default {baud})")
    parser.add_argument("--echo", action="store_true", help="repeat what is sent, as some adapters do")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def _joints(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_JOINTS:
        raise argparse.ArgumentTypeError(f"{number} is not within 1 to {MOST_JOINTS}")
    return number


def serve(emulator: EmulatedServoBus[Servo], server: PtyServer) -> int:
    """Serve until SIGINT or SIGTERM; return the exit status."""
    ended = os.eventfd(0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os.eventfd_write(ended, 1))
    try:
        server.start()
    except DriverError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{server.path}\n")
    sys.stdout.flush()
    _obey_input(emulator, ended)
    server.stop()
    return 0


def _obey(emulator: EmulatedServoBus[Servo], line: str) -> None:
    """Carry out one line of standard input; a line that makes no sense is answered on standard error."""
    try:
        angles = json.loads(line)
        emulator.move_hand([float(angle) for angle in angles])
    except (ValueError, TypeError, DriverError) as error:
        sys.stderr.write(f"ignored {line.strip()!r}: {error}\n")


def _obey_input(emulator: EmulatedServoBus[Servo], ended: int) -> None:
    """Carry out the lines of standard input until the event `ended`; the input may end earlier."""
    watched, pending = [ended, sys.stdin.fileno()], b""
    while ended not in (ready := select.select(watched, [], [])[0]):
        data = os.read(ready[0], 4096)
        if not data:
            watched = [ended]
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            _obey(emulator, line.decode(errors="replace"))
