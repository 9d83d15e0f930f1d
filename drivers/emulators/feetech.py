"""A bus of emulated STS3215 servos, byte for byte, and a program that serves one.

    python -m drivers.emulators.feetech --joints 6 --pty-link /tmp/so101_leader

serves until SIGINT or SIGTERM. Each line on its standard input is one JSON list, the joint angles [rad] to which a
hand moves the passive arm.
"""

import sys
from collections.abc import Sequence

from drivers.emulators.faults import Reply
from drivers.emulators.feetech_servo import FeetechServo
from drivers.emulators.program import option_parser, serve
from drivers.emulators.pty import PtyServer
from drivers.emulators.servo_bus import SILENT_SLOT_S, EmulatedServoBus
from drivers.servo import feetech
from drivers.servo.codec import Packet
from drivers.servo.feetech import BROADCAST_ID, MOST_PARAMETERS, Instruction


class FeetechEmulator(EmulatedServoBus[FeetechServo]):
    """Servos on one bus. `feed` is called by one thread; the hand may be moved from another."""

    def __init__(self, servo_ids: Sequence[int]) -> None:
        """Power up one servo per id, all in the middle."""
        super().__init__([FeetechServo(servo_id) for servo_id in servo_ids])
        self._parser = feetech.Parser(highest_id=BROADCAST_ID)

    def feed(self, data: bytes, now_ns: int) -> list[Reply]:
        """Take bytes from the host; return status packets, in order."""
        replies: list[Reply] = []
        for packet in self._parser.feed(data):
            for servo in self.servos:
                servo.advance(now_ns / 1e9)
            replies += self._carry_out(packet)
        return replies

    def _carry_out(self, packet: Packet) -> list[Reply]:
        if packet.code == Instruction.SYNC_READ and len(packet.data) > 2:
            return self._sync_read(packet.data)
        if packet.code == Instruction.SYNC_WRITE and len(packet.data) > 2:
            self._sync_write(packet.data)
            return []
        addressed = [servo for servo in self.servos if packet.id in (servo.servo_id, BROADCAST_ID)]
        return [reply for servo in addressed for reply in self._single(servo, packet)]

    def _single(self, servo: FeetechServo, packet: Packet) -> list[Reply]:
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


def _status(servo: FeetechServo, answer_id: int, data: bytes = b"", silent_s: float = 0.0) -> Reply:
    delay_s = servo.get("return_delay") * servo.model.return_delay_unit_s + silent_s
    return Reply(feetech.encode(answer_id, servo.error, data), delay_s, source=answer_id)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one emulated arm until SIGINT or SIGTERM; return the exit status."""
    parser = option_parser("drivers.emulators.feetech", "Emulate an arm of STS3215 servos.", 1_000_000)
    options = parser.parse_args(arguments)
    emulator = FeetechEmulator(range(1, options.joints + 1))
    return serve(emulator, PtyServer(emulator, link=options.pty_link, baud=options.baud, echo=options.echo))


if __name__ == "__main__":
    sys.exit(main())
