"""A bus of emulated DYNAMIXEL servos of the X series, byte for byte, and a program that serves one.

    python -m drivers.emulators.dynamixel --joints 6 --model xl330-m288 --pty-link /tmp/koch_leader

serves until SIGINT or SIGTERM. Each line on its standard input is one JSON list, the joint angles [rad] to which a
hand moves the passive arm.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence

from drivers.emulators.dynamixel_servo import ACCEPTED, DynamixelServo
from drivers.emulators.faults import Reply
from drivers.emulators.program import option_parser, serve
from drivers.emulators.pty import PtyServer
from drivers.emulators.servo import MEMORY_SIZE
from drivers.emulators.servo_bus import SILENT_SLOT_S, EmulatedServoBus
from drivers.servo import dynamixel
from drivers.servo.codec import Packet
from drivers.servo.control_table import model_called
from drivers.servo.dynamixel_errors import Refusal
from drivers.servo.dynamixel_packet import BROADCAST_ID, PREFIX, Instruction, Parser
from drivers.servo.dynamixel_table import X_SERIES

CLEAR_TURNS = b"\x01DXL\x22"
FORGET_S = 0.1
"""A packet that pauses for longer is given up [s]."""
FAST = (Instruction.FAST_SYNC_READ, Instruction.FAST_BULK_READ)
READS = (Instruction.SYNC_READ, Instruction.BULK_READ, *FAST)
WRITES = (Instruction.SYNC_WRITE, Instruction.BULK_WRITE)
PING_ONLY, READ_ONLY = 0, 1
"""Levels of status return."""


class DynamixelEmulator(EmulatedServoBus[DynamixelServo]):
    """Servos on one bus. `feed` is called by one thread; the hand may be moved from another."""

    def __init__(
        self, servo_ids: Sequence[int], model: str = "xl330-m288", models: Mapping[int, str] | None = None
    ) -> None:
        """Power up one servo per id, all in the middle; `models`, id -> name, are those that are not of `model`."""
        others = models or {}
        super().__init__([DynamixelServo(i, model_called(others.get(i, model))) for i in servo_ids])
        self._parser = Parser(instructions=True)
        self._fed_s = 0.0

    def feed(self, data: bytes, now_ns: int) -> list[Reply]:
        """Take bytes from the host; return status packets, in order."""
        now_s = now_ns / 1e9
        if now_s - self._fed_s > FORGET_S:
            self._parser.finish()
        self._fed_s = now_s
        replies: list[Reply] = []
        for packet in self._parser.feed(data):
            awake = {servo.servo_id: servo for servo in self.servos if servo.hear(now_s)}
            replies += self._carry_out(packet, awake, now_s)
        return replies

    def _carry_out(self, packet: Packet, awake: dict[int, DynamixelServo], now_s: float) -> list[Reply]:
        if packet.code in READS:
            blocks = list(_read_blocks(packet))
            return list((_fast if packet.code in FAST else _one_by_one)(blocks, awake))
        if packet.code in WRITES:
            for servo_id, address, data in _write_blocks(packet):
                if servo_id in awake:
                    awake[servo_id].write(address, data)
            return []
        if packet.id != BROADCAST_ID:
            servo = awake.get(packet.id)
            return [] if servo is None else _single(servo, packet, now_s)
        in_order = (awake[servo_id] for servo_id in sorted(awake))
        replies = [reply for servo in in_order for reply in _single(servo, packet, now_s)]
        return replies if packet.code == Instruction.PING else []


def _single(servo: DynamixelServo, packet: Packet, now_s: float) -> list[Reply]:
    level = servo.get("response_level")
    if packet.code == Instruction.PING:
        return [_status(servo, ACCEPTED, servo.read(0, 2) + servo.read(6, 1))]
    if packet.code == Instruction.READ:
        return [_read(servo, packet.data)] if level >= READ_ONLY and packet.id != BROADCAST_ID else []
    delayed_by = servo.get("return_delay")
    servo_id = servo.servo_id
    alert, refusal = servo.alert, _obey(servo, packet, now_s)
    if level <= READ_ONLY or packet.id == BROADCAST_ID:
        return []
    reply = dynamixel.status(servo_id, alert | refusal)
    return [Reply(reply, delayed_by * servo.model.return_delay_unit_s, source=servo_id)]


def _obey(servo: DynamixelServo, packet: Packet, now_s: float) -> int:
    """Carry out an instruction that returns no data; return 0, or why it was refused."""
    address, data = int.from_bytes(packet.data[:2], "little"), packet.data[2:]
    match packet.code:
        case Instruction.WRITE:
            return servo.write(address, data)
        case Instruction.REG_WRITE:
            servo.register_write(address, data)
        case Instruction.ACTION:
            return servo.act()
        case Instruction.REBOOT:
            servo.reboot(now_s)
        case Instruction.CLEAR if packet.data == CLEAR_TURNS:
            servo.clear_turns()
        case Instruction.CLEAR:
            return Refusal.DATA_RANGE
        case _:
            return Refusal.INSTRUCTION
    return ACCEPTED


def _read(servo: DynamixelServo, parameters: bytes, silent_s: float = 0.0) -> Reply:
    address, size = int.from_bytes(parameters[:2], "little"), int.from_bytes(parameters[2:4], "little")
    if len(parameters) != 4 or not size:
        return _status(servo, Refusal.DATA_LENGTH, silent_s=silent_s)
    if address + size > MEMORY_SIZE:
        return _status(servo, Refusal.DATA_RANGE, silent_s=silent_s)
    return _status(servo, ACCEPTED, servo.read(address, size), silent_s)


def _status(servo: DynamixelServo, refusal: int, data: bytes = b"", silent_s: float = 0.0) -> Reply:
    delay_s = servo.get("return_delay") * servo.model.return_delay_unit_s + silent_s
    return Reply(dynamixel.status(servo.servo_id, servo.alert | refusal, data), delay_s, source=servo.servo_id)


def _read_blocks(packet: Packet) -> Iterator[tuple[int, bytes]]:
    """Servo id -> parameters of its READ."""
    if packet.code in (Instruction.SYNC_READ, Instruction.FAST_SYNC_READ):
        yield from ((servo_id, packet.data[:4]) for servo_id in packet.data[4:])
        return
    for start in range(0, len(packet.data) - 4, 5):
        yield packet.data[start], packet.data[start + 1 : start + 5]


def _write_blocks(packet: Packet) -> Iterator[tuple[int, int, bytes]]:
    """Servo id, address and data of each block that is whole."""
    parameters = packet.data
    if packet.code == Instruction.SYNC_WRITE:
        address, size = int.from_bytes(parameters[:2], "little"), int.from_bytes(parameters[2:4], "little")
        for start in range(4, len(parameters) - size, size + 1):
            yield parameters[start], address, parameters[start + 1 : start + 1 + size]
        return
    while len(parameters) >= 5:
        address, size = int.from_bytes(parameters[1:3], "little"), int.from_bytes(parameters[3:5], "little")
        block, servo_id = parameters[5 : 5 + size], parameters[0]
        parameters = parameters[5 + size :]
        if len(block) == size:
            yield servo_id, address, block


def _one_by_one(blocks: Sequence[tuple[int, bytes]], awake: Mapping[int, DynamixelServo]) -> Iterator[Reply]:
    silent_s = 0.0
    for servo_id, parameters in blocks:
        servo = awake.get(servo_id)
        if servo is None or servo.get("response_level") == PING_ONLY:
            silent_s += SILENT_SLOT_S
            continue
        yield _read(servo, parameters, silent_s)
        silent_s = 0.0


def _fast(blocks: Sequence[tuple[int, bytes]], awake: Mapping[int, DynamixelServo]) -> Iterator[Reply]:
    """One packet, to which each servo adds its block; where one is missing, those behind it have nothing to add to."""
    answers = []
    for servo_id, parameters in blocks:
        servo, size = awake.get(servo_id), int.from_bytes(parameters[2:4], "little")
        data = b"" if servo is None else servo.read(int.from_bytes(parameters[:2], "little"), size)
        answers.append((servo_id, 0 if servo is None else servo.alert, data.ljust(size, b"\0")))
    if dynamixel.fast_size(len(data) for *_, data in answers) > MEMORY_SIZE * 4:
        return
    packet, start = dynamixel.fast_status(answers), 0
    end = PREFIX + 1
    for servo_id, _, data in answers:
        servo = awake.get(servo_id)
        if servo is None or servo.get("firmware") < servo.model.fast_firmware:
            return
        end += len(data) + dynamixel.FAST_OVERHEAD
        delay_s = 0.0 if start else servo.get("return_delay") * servo.model.return_delay_unit_s
        yield Reply(packet[start:end], delay_s, source=servo_id)
        start = end


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve one emulated arm until SIGINT or SIGTERM; return the exit status."""
    parser = option_parser("drivers.emulators.dynamixel", "Emulate an arm of DYNAMIXEL servos.", 57_600)
    names = [model.name for model in X_SERIES]
    parser.add_argument("--model", choices=names, default="xl330-m288", help="type of the servos (default xl330-m288)")
    options = parser.parse_args(arguments)
    emulator = DynamixelEmulator(range(1, options.joints + 1), options.model)
    return serve(emulator, PtyServer(emulator, link=options.pty_link, baud=options.baud, echo=options.echo))


if __name__ == "__main__":
    sys.exit(main())
