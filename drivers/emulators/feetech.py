"""A bus of emulated STS3215 servos, byte for byte, and a program that serves one.

    python -m drivers.emulators.feetech --joints 6 --pty-link /tmp/so101_leader

serves until SIGINT or SIGTERM. Each line on its standard input is one JSON list, the joint angles [rad] to which a
hand moves the passive arm.
"""

import argparse
import json
import math
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from drivers import clock
from drivers.emulators.faults import Reply
from drivers.emulators.feetech_servo import EmulatedServo
from drivers.emulators.pty import PtyServer
from drivers.errors import DriverError
from drivers.servo import feetech
from drivers.servo.codec import Packet
from drivers.servo.feetech import BROADCAST_ID, MOST_PARAMETERS, Instruction

COUNTS_PER_RAD = 4096 / (2 * math.pi)
CENTRE = 2048
HAND_SPEED = 1.0
"""How fast `move_hand` moves [rad/s]."""
SILENT_SLOT_S = 0.0002
"""How long the servos behind a missing one wait for it during a sync read [s]."""


class FeetechEmulator:
    """Servos on one bus. `feed` is called by one thread; the hand may be moved from another."""

    def __init__(self, servo_ids: Sequence[int]) -> None:
        """Power up one servo per id, all in the middle."""
        self.servos = [EmulatedServo(servo_id) for servo_id in servo_ids]
        self._parser = feetech.Parser(highest_id=BROADCAST_ID)

    def servo(self, servo_id: int) -> EmulatedServo:
        """Return the servo that answers to `servo_id`.

        Raises:
            KeyError: There is none.
        """
        for servo in self.servos:
            if servo.servo_id == servo_id:
                return servo
        raise KeyError(servo_id)

    def feed(self, data: bytes, now_ns: int) -> list[Reply]:
        """Take bytes from the host; return status packets, in order."""
        replies: list[Reply] = []
        for packet in self._parser.feed(data):
            for servo in self.servos:
                servo.advance(now_ns / 1e9)
            replies += self._carry_out(packet)
        return replies

    def follow(self, trajectory: Callable[[float], Sequence[float]]) -> None:
        """Hold the passive joints along `trajectory`: monotonic time [s] -> joint angles [rad], 2048 steps being 0."""
        for index, servo in enumerate(self.servos):
            servo.hand = lambda time_s, index=index: CENTRE + COUNTS_PER_RAD * trajectory(time_s)[index]

    def move_hand(self, angles: Sequence[float], speed: float = HAND_SPEED) -> None:
        """Move the passive joints from where they are to `angles` [rad] at `speed` [rad/s], and stay there.

        Raises:
            DriverError: Not one finite angle per joint.
        """
        if len(angles) != len(self.servos) or not all(math.isfinite(angle) for angle in angles):
            raise DriverError(f"the hand needs {len(self.servos)} finite joint angles [rad], not {list(angles)}")
        start_s = clock.now_ns() / 1e9
        for servo, angle in zip(self.servos, angles, strict=True):
            servo.hand = _approach(servo.actual, CENTRE + COUNTS_PER_RAD * angle, start_s, speed * COUNTS_PER_RAD)

    def _carry_out(self, packet: Packet) -> list[Reply]:
        if packet.code == Instruction.SYNC_READ and len(packet.data) > 2:
            return self._sync_read(packet.data)
        if packet.code == Instruction.SYNC_WRITE and len(packet.data) > 2:
            self._sync_write(packet.data)
            return []
        addressed = [servo for servo in self.servos if packet.id in (servo.servo_id, BROADCAST_ID)]
        return [reply for servo in addressed for reply in self._single(servo, packet)]

    def _single(self, servo: EmulatedServo, packet: Packet) -> list[Reply]:
        broadcast = packet.id == BROADCAST_ID
        address, payload = packet.data[:1], packet.data[1:]
        answer_id, verbose = servo.servo_id, servo.get("response_level") != 0
        match packet.code:
            case Instruction.PING:
                return [_status(servo, answer_id)]
            case Instruction.READ if len(payload) == 1 and payload[0] <= MOST_PARAMETERS and not broadcast:
                return [_status(servo, answer_id, servo.read(address[0], payload[0]))]
            case Instruction.WRITE if payload:
                servo.write(address[0], payload)
            case Instruction.REG_WRITE if payload:
                servo.register_write(address[0], payload)
            case Instruction.ACTION:
                servo.act()
            case _:
                return []
        return [_status(servo, answer_id)] if verbose and not broadcast else []

    def _sync_read(self, parameters: bytes) -> list[Reply]:
        address, size, *servo_ids = parameters
        if size > MOST_PARAMETERS:
            return []
        by_id = {servo.servo_id: servo for servo in self.servos}
        replies, silent_s = [], 0.0
        for servo_id in servo_ids:
            servo = by_id.get(servo_id)
            if servo is None:
                silent_s += SILENT_SLOT_S
                continue
            replies.append(_status(servo, servo_id, servo.read(address, size), silent_s))
            silent_s = 0.0
        return replies

    def _sync_write(self, parameters: bytes) -> None:
        address, size, blocks = parameters[0], parameters[1], parameters[2:]
        by_id = {servo.servo_id: servo for servo in self.servos}
        for start in range(0, len(blocks) - size, size + 1):
            servo = by_id.get(blocks[start])
            if servo is not None:
                servo.write(address, blocks[start + 1 : start + 1 + size])


def _status(servo: EmulatedServo, answer_id: int, data: bytes = b"", silent_s: float = 0.0) -> Reply:
    delay_s = servo.get("return_delay") * servo.model.return_delay_unit_s + silent_s
    return Reply(feetech.encode(answer_id, servo.error, data), delay_s, source=answer_id)


def _approach(start: float, end: float, start_s: float, speed: float) -> Callable[[float], float]:
    def position(time_s: float) -> float:
        travelled = max(0.0, time_s - start_s) * speed
        return start + math.copysign(min(travelled, abs(end - start)), end - start)

    return position


def _obey(emulator: FeetechEmulator, line: str) -> None:
    """Carry out one line of standard input; a line that makes no sense is answered on standard error."""
    try:
        angles = json.loads(line)
        emulator.move_hand([float(angle) for angle in angles])
    except (ValueError, TypeError, DriverError) as error:
        sys.stderr.write(f"ignored {line.strip()!r}: {error}\n")


def _obey_input(emulator: FeetechEmulator, ended: int) -> None:
    """Carry out the lines of standard input until the event `ended`; the input may end earlier."""
    watched, pending = [ended, sys.stdin.fileno()], b""
    while ended not in (ready := select.select(watched, [], [])[0]):
        data = os.read(ready[0], 4096)
        if not data:
            watched = [ended]
        *lines, pending = (pending + data).split(b"\n")
        for line in lines:
            _obey(emulator, line.decode(errors="replace"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one emulated arm until SIGINT or SIGTERM; return the exit status."""
    parser = argparse.ArgumentParser(prog="drivers.emulators.feetech", description="Emulate an arm of STS3215 servos.")
    parser.add_argument("--joints", type=int, default=6, help="number of servos; their ids are 1, 2, ... (default 6)")
    parser.add_argument("--pty-link", type=Path, required=True, help="where to put the link to the serial port")
    parser.add_argument("--baud", type=int, default=1_000_000, help="speed whose timing is kept (default 1000000)")
    parser.add_argument("--echo", action="store_true", help="repeat what is sent, as some adapters do")
    options = parser.parse_args(arguments)
    if not 1 <= options.joints <= 250 or options.baud <= 0:
        parser.error("--joints takes 1 to 250, --baud a positive number")
    emulator = FeetechEmulator(range(1, options.joints + 1))
    server = PtyServer(emulator, link=options.pty_link, baud=options.baud, echo=options.echo)
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


if __name__ == "__main__":
    sys.exit(main())
