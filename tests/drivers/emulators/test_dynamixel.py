"""The emulated firmware, byte by byte and over time, without a terminal."""

import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.configs import ServoArmConfig
from drivers.emulators.dynamixel import DynamixelEmulator
from drivers.servo import dynamixel
from drivers.servo.arm import ServoArm
from drivers.servo.codec import Packet
from drivers.servo.control_table import MODELS
from drivers.servo.dynamixel_errors import ALERT, HardwareError, Refusal
from drivers.servo.dynamixel_packet import BROADCAST_ID, Instruction, Parser, encode

TABLE = MODELS["xl330-m288"]


class Bench:
    """An emulator with a clock of its own."""

    def __init__(self, *servo_ids: int, model: str = "xl330-m288") -> None:
        self.emulator = DynamixelEmulator(servo_ids, model)
        self.now_s = 100.0
        self.wait(0.0)

    def replies(self, packet: bytes) -> list[Packet]:
        sent = self.emulator.feed(packet, round(self.now_s * 1e9))
        return Parser().feed(b"".join(reply.data for reply in sent))

    def write(self, servo_id: int, name: str, value: int) -> int:
        register = TABLE[name]
        (reply,) = self.replies(dynamixel.write(servo_id, register.address, register.encode(value)))
        return reply.code

    def read(self, servo_id: int, name: str) -> int:
        register = TABLE[name]
        (reply,) = self.replies(dynamixel.read(servo_id, register.address, register.size))
        return register.decode(reply.data)

    def wait(self, seconds: float) -> None:
        self.now_s += seconds
        self.replies(dynamixel.ping())


@pytest.fixture
def bench():
    return Bench(1, 2, 3)


def test_a_ping_says_model_and_firmware(bench):
    (reply,) = bench.replies(dynamixel.ping(1))
    assert reply == Packet(1, 0, (1200).to_bytes(2, "little") + b"\x2f")


def test_a_broadcast_ping_is_answered_in_order_of_ids_and_a_broadcast_write_by_none():
    bench = Bench(7, 2, 5)
    assert [packet.id for packet in bench.replies(dynamixel.ping())] == [2, 5, 7]
    assert bench.replies(dynamixel.write(BROADCAST_ID, 65, b"\x01")) == []
    assert [bench.read(servo_id, "led") for servo_id in (2, 5, 7)] == [1, 1, 1]


def test_a_foreign_id_and_a_damaged_instruction_are_met_with_silence(bench):
    assert bench.replies(dynamixel.ping(9)) == []
    assert bench.replies(dynamixel.ping(1)[:-1] + b"\x00") == []


def test_an_instruction_that_pauses_too_long_is_given_up(bench):
    assert bench.replies(bytes.fromhex("FFFFFD00010002 03")) == []  # promises 512 bytes
    bench.now_s += 0.2
    assert len(bench.replies(dynamixel.ping(1))) == 1


def test_what_is_refused_is_refused_with_the_code_of_the_device(bench):
    assert bench.write(1, "present_position", 0) == Refusal.ACCESS
    assert bench.write(1, "goal_position", 4096) == Refusal.DATA_LIMIT
    assert bench.write(1, "torque_enable", 2) == Refusal.DATA_RANGE
    assert bench.write(1, "mode", 9) == Refusal.DATA_RANGE
    assert bench.replies(encode(1, 0x77))[0].code == Refusal.INSTRUCTION
    assert bench.replies(dynamixel.action(1))[0].code == Refusal.RESULT_FAIL
    assert bench.replies(dynamixel.read(1, 250, 20))[0].code == Refusal.DATA_RANGE


def test_eeprom_is_locked_while_torque_is_on_and_kept(bench):
    assert bench.write(1, "torque_enable", 1) == 0
    assert bench.write(1, "return_delay", 0) == Refusal.ACCESS
    assert bench.write(1, "torque_enable", 0) == 0
    assert bench.write(1, "return_delay", 0) == 0
    bench.emulator.servo(1).power_cycle()
    assert bench.read(1, "return_delay") == 0


def test_the_return_delay_is_half_a_millisecond_from_the_factory(bench):
    (reply,) = bench.emulator.feed(dynamixel.ping(1), round(bench.now_s * 1e9))
    assert reply.delay_s == pytest.approx(500e-6)


def test_the_status_return_level_silences(bench):
    register = TABLE["response_level"].address
    bench.replies(dynamixel.write(1, register, b"\x01"))
    assert bench.replies(dynamixel.write(1, 65, b"\x01")) == []
    assert bench.read(1, "led") == 1
    bench.replies(dynamixel.write(1, register, b"\x00"))
    assert bench.replies(dynamixel.read(1, 65, 1)) == []
    assert len(bench.replies(dynamixel.ping(1))) == 1


def test_a_registered_write_waits_for_action(bench):
    goal = TABLE["goal_position"]
    bench.replies(dynamixel.reg_write(1, goal.address, goal.encode(3000)))
    assert (bench.read(1, "goal_position"), bench.read(1, "write_pending")) == (2048, 1)
    bench.replies(dynamixel.action())
    assert (bench.read(1, "goal_position"), bench.read(1, "write_pending")) == (3000, 0)


def test_bulk_instructions_reach_different_registers(bench):
    goal = TABLE["goal_position"]
    bench.replies(dynamixel.bulk_write({1: (65, b"\x01"), 2: (goal.address, goal.encode(77))}))
    blocks = {1: (65, 1), 2: (goal.address, 4)}
    assert [p.data for p in bench.replies(dynamixel.bulk_read(blocks))] == [b"\x01", goal.encode(77)]
    sent = b"".join(r.data for r in bench.emulator.feed(dynamixel.bulk_read(blocks, fast=True), round(100e9)))
    assert dynamixel.fast_replies(sent, {1: 1, 2: 4}) == [Packet(1, 0, b"\x01"), Packet(2, 0, goal.encode(77))]


def test_a_fast_reply_ends_before_the_servo_that_is_missing(bench):
    sent = b"".join(r.data for r in bench.emulator.feed(dynamixel.fast_sync_read((1, 9, 3), 132, 4), round(100e9)))
    assert [p.id for p in dynamixel.fast_replies(sent, {1: 4, 9: 4, 3: 4})] == [1]


def test_a_goal_is_approached_at_the_profile_velocity(bench):
    for name, value in {"profile_velocity": 50, "goal_position": 4000, "torque_enable": 1}.items():
        assert bench.write(1, name, value) == 0
    for _ in range(10):
        bench.wait(0.02)
        assert bench.read(1, "present_velocity") <= 50
    assert bench.read(1, "present_position") == pytest.approx(2048 + 0.2 * 50 * 0.229 * 4096 / 60, abs=3)
    bench.wait(5)
    assert bench.read(1, "present_position") == 4000


@pytest.mark.parametrize(("drive_mode", "position", "velocity_sign"), [(0, 2648, 1), (1, 1448, -1)])
def test_reverse_mode_turns_position_and_velocity(bench, drive_mode, position, velocity_sign):
    bench.write(1, "drive_mode", drive_mode)
    start = bench.now_s
    bench.emulator.servo(1).hand = lambda time_s: 2048 + 6000 * (time_s - start)
    bench.wait(0.1)
    assert bench.read(1, "present_position") == position
    assert bench.read(1, "present_velocity") * velocity_sign > 300


def test_the_offset_is_added_and_beyond_a_quarter_turn_only_where_the_mode_counts_on(bench):
    assert bench.write(1, "homing_offset", 2000) == 0
    assert bench.read(1, "present_position") == 2048 + 1024
    bench.write(1, "mode", 4)
    assert bench.read(1, "present_position") == 2048 + 2000
    bench.write(1, "homing_offset", -5000)
    assert bench.read(1, "present_position") == 2048 - 5000


def test_a_blocked_joint_latches_overload_loses_torque_and_answers_on(bench):
    bench.emulator.servo(1).blocked = True
    bench.write(1, "torque_enable", 1)
    bench.write(1, "goal_position", 3000)
    for _ in range(15):
        bench.wait(0.1)
    (reply,) = bench.replies(dynamixel.read(1, 132, 4))
    assert (reply.code, reply.data) == (ALERT, TABLE["present_position"].encode(2048))
    assert HardwareError(bench.read(1, "status")) is HardwareError.OVERLOAD
    assert bench.read(1, "torque_enable") == 0
    assert bench.write(1, "torque_enable", 1) == ALERT | Refusal.RESULT_FAIL
    assert bench.replies(dynamixel.reboot(1))[0].code == ALERT
    assert bench.replies(dynamixel.ping(1)) == []
    bench.wait(0.2)
    assert bench.write(1, "torque_enable", 1) == 0


def test_the_bus_watchdog_stops_the_servo_and_locks_its_goals(bench):
    for name, value in {"profile_velocity": 10, "torque_enable": 1, "bus_watchdog": 5, "goal_position": 4000}.items():
        assert bench.write(1, name, value) == 0
    for _ in range(5):
        bench.wait(0.09)
    assert bench.read(1, "bus_watchdog") == 5
    bench.wait(0.5)
    stopped = bench.read(1, "present_position")
    bench.wait(0.5)
    assert bench.read(1, "present_position") == stopped < 4000
    assert bench.read(1, "bus_watchdog") == -1
    assert bench.write(1, "goal_position", 3000) == Refusal.DATA_RANGE
    assert bench.write(1, "bus_watchdog", 0) == 0
    assert bench.write(1, "goal_position", 3000) == 0


def test_clear_forgets_the_turns(bench):
    bench.write(1, "mode", 4)
    bench.emulator.servo(1).hand = lambda _: 5000.0
    bench.wait(0.01)
    assert bench.read(1, "present_position") == 5000
    bench.emulator.servo(1).hand = None
    bench.replies(encode(1, Instruction.CLEAR, b"\x01DXL\x22"))
    assert bench.read(1, "present_position") == 5000 - 4096
    assert bench.replies(encode(1, Instruction.CLEAR, b"\x01nope"))[0].code == Refusal.DATA_RANGE


@given(st.integers(0, 254), st.sampled_from(list(Instruction)), st.binary(max_size=20))
@settings(max_examples=300, deadline=None)
def test_arbitrary_parameters_never_crash_the_firmware(servo_id, instruction, parameters):
    bench = Bench(1, 2)
    for target in (servo_id, 1, BROADCAST_ID):
        bench.emulator.feed(encode(target, instruction, parameters), round(bench.now_s * 1e9))
        bench.wait(0.05)


def test_the_program_serves_an_arm_and_ends_cleanly(tmp_path):
    link = tmp_path / "leader"
    options = ["--joints", "2", "--model", "xc330-t288", "--pty-link", str(link), "--baud", "1000000"]
    command = [sys.executable, "-m", "drivers.emulators.dynamixel", *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    config = ServoArmConfig(name="leader", port=str(link), joints={"pan": 1, "lift": 2}, model="xc330-t288")
    arm = ServoArm(config)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{link}\n".encode()
        arm.connect()
        assert arm.facts()["servos"]["pan"]["model_number"] == 1220
    finally:
        arm.disconnect()
        process.send_signal(signal.SIGTERM)
        _, complaints = process.communicate(timeout=10)
    assert (process.returncode, complaints) == (0, b"")
    assert not os.path.lexists(link)
