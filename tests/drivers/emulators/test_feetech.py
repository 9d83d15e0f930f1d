"""The emulated firmware, byte by byte and over time, without a terminal."""

import os
import signal
import subprocess
import sys
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drivers.configs import ServoArmConfig
from drivers.emulators.feetech import FeetechEmulator
from drivers.errors import DriverError
from drivers.servo import feetech
from drivers.servo.arm import ServoArm
from drivers.servo.feetech import ServoError
from drivers.servo.feetech_table import STS3215


class Bench:
    """An emulator with a clock of its own."""

    def __init__(self, *servo_ids: int) -> None:
        self.emulator = FeetechEmulator(servo_ids)
        self.now_s = 100.0
        self.send(feetech.ping())

    def send(self, packet: bytes) -> list[str]:
        return [reply.data.hex(" ").upper() for reply in self.emulator.feed(packet, round(self.now_s * 1e9))]

    def write(self, servo_id: int, name: str, value: int) -> None:
        register = STS3215[name]
        self.send(feetech.write(servo_id, register.address, register.encode(value)))

    def read(self, servo_id: int, name: str) -> int:
        register = STS3215[name]
        (reply,) = self.emulator.feed(feetech.read(servo_id, register.address, register.size), round(self.now_s * 1e9))
        (packet,) = feetech.Parser().feed(reply.data)
        return register.decode(packet.data)

    def wait(self, seconds: float) -> None:
        self.now_s += seconds
        self.send(feetech.ping())


@pytest.fixture
def bench():
    return Bench(1, 2, 3)


def test_replies_are_the_published_bytes(bench):
    assert bench.send(bytes.fromhex("FFFF010201FB")) == ["FF FF 01 02 00 FC"]
    assert bench.send(bytes.fromhex("FFFF0104023802BE")) == ["FF FF 01 04 00 00 08 F2"]
    bench.send(bytes.fromhex("FFFF0305032A6480E6"))
    assert bench.read(3, "goal_position") == -100


def test_a_broadcast_ping_is_answered_by_all_and_a_broadcast_write_by_none(bench):
    assert len(bench.send(feetech.ping())) == 3
    assert bench.send(feetech.write(feetech.BROADCAST_ID, 41, b"\x05")) == []
    assert [bench.read(servo_id, "acceleration") for servo_id in (1, 2, 3)] == [5, 5, 5]


def test_a_foreign_id_and_a_damaged_instruction_are_met_with_silence(bench):
    assert bench.send(feetech.ping(9)) == []
    assert bench.send(bytes.fromhex("FFFF010201FC")) == []
    assert bench.send(feetech.encode(1, 0x77)) == []


def test_sync_read_answers_in_the_order_asked_and_waits_for_the_missing(bench):
    replies = bench.emulator.feed(feetech.sync_read((3, 9, 1), 56, 4), round(bench.now_s * 1e9))
    assert [reply.source for reply in replies] == [3, 1]
    assert replies[0].delay_s == 0.0 < replies[1].delay_s


def test_the_response_level_silences_writes(bench):
    assert len(bench.send(feetech.write(1, 8, b"\x00"))) == 1
    assert bench.send(feetech.write(1, 41, b"\x01")) == []
    assert len(bench.send(feetech.read(1, 41, 1))) == 1


def test_the_return_delay_is_kept(bench):
    bench.write(1, "return_delay", 250)
    (reply,) = bench.emulator.feed(feetech.ping(1), round(bench.now_s * 1e9))
    assert reply.delay_s == pytest.approx(500e-6)


def test_eeprom_is_kept_only_when_it_was_unlocked(bench):
    servo = bench.emulator.servo(1)
    bench.write(1, "position_p", 16)
    assert bench.read(1, "position_p") == 16
    servo.power_cycle()
    assert bench.read(1, "position_p") == 32
    bench.write(1, "lock", 0)
    bench.write(1, "position_p", 16)
    servo.power_cycle()
    assert (bench.read(1, "position_p"), bench.read(1, "lock")) == (16, 1)


def test_read_only_registers_ignore_writes(bench):
    bench.write(1, "model_number", 5)
    bench.write(1, "present_voltage", 5)
    assert (bench.read(1, "model_number"), bench.read(1, "present_voltage")) == (777, 74)


def test_the_torque_limit_starts_at_the_maximum_torque(bench):
    bench.write(1, "lock", 0)
    bench.write(1, "max_torque", 300)
    bench.emulator.servo(1).power_cycle()
    assert bench.read(1, "torque_limit") == 300


def test_a_registered_write_waits_for_action(bench):
    goal = STS3215["goal_position"]
    bench.send(feetech.encode(1, feetech.Instruction.REG_WRITE, bytes((goal.address,)) + goal.encode(3000)))
    assert (bench.read(1, "goal_position"), bench.read(1, "write_pending")) == (0, 1)
    bench.send(feetech.encode(feetech.BROADCAST_ID, feetech.Instruction.ACTION))
    assert (bench.read(1, "goal_position"), bench.read(1, "write_pending")) == (3000, 0)


def test_without_torque_a_goal_moves_nothing_and_with_torque_it_is_reached(bench):
    bench.write(1, "goal_position", 2500)
    bench.wait(1)
    assert bench.read(1, "present_position") == 2048
    bench.write(1, "torque_enable", 1)
    bench.wait(0.05)
    assert 2048 < bench.read(1, "present_position") < 2500
    assert bench.read(1, "moving") == 1
    bench.wait(1)
    assert bench.read(1, "present_position") == 2500
    assert bench.read(1, "goal_position_echo") == 2500


@pytest.mark.parametrize(("settings_", "fastest"), [({"goal_velocity": 400}, 400), ({"torque_limit": 100}, 340)])
def test_velocity_and_torque_limits_slow_it(bench, settings_, fastest):
    for name, value in {**settings_, "goal_position": 4000, "torque_enable": 1}.items():
        bench.write(1, name, value)
    for _ in range(20):
        bench.wait(0.01)
        assert abs(bench.read(1, "present_velocity")) <= fastest
    assert bench.read(1, "present_position") == pytest.approx(2048 + 0.2 * fastest, abs=5)


def test_acceleration_ramps_the_speed(bench):
    for name, value in {"acceleration": 10, "goal_position": 4000, "torque_enable": 1}.items():
        bench.write(1, name, value)
    bench.wait(0.1)
    assert bench.read(1, "present_velocity") == pytest.approx(100, abs=5)


def test_the_offset_is_subtracted_and_the_position_stays_within_a_turn(bench):
    bench.write(1, "homing_offset", -2047)
    bench.wait(0.01)
    assert bench.read(1, "present_position") == 4095
    bench.write(1, "homing_offset", 2047)
    bench.wait(0.01)
    assert bench.read(1, "present_position") == 1


def test_multi_turn_feedback_leaves_the_turn(bench):
    bench.write(1, "phase", 12 | 16)
    bench.emulator.servo(1).hand = lambda _: 5000.0
    bench.wait(0.01)
    assert bench.read(1, "present_position") == 5000
    bench.write(1, "phase", 12)
    assert bench.read(1, "present_position") == 5000 - 4096


@pytest.mark.parametrize("actual", [0, 1, 2047, 2048, 3000, 4095])
def test_centre_here_makes_the_position_the_middle(bench, actual):
    bench.emulator.servo(1).hand = lambda _: float(actual)
    bench.wait(0.01)
    bench.send(bytes.fromhex("FFFF01040328804F"))
    assert bench.read(1, "present_position") == pytest.approx(2048, abs=1)
    bench.emulator.servo(1).power_cycle()
    assert bench.read(1, "present_position") == pytest.approx(2048, abs=1)


def test_a_blocked_joint_latches_overload_and_answers_on(bench):
    servo = bench.emulator.servo(1)
    servo.blocked = True
    bench.write(1, "goal_position", 3000)
    bench.write(1, "torque_enable", 1)
    for _ in range(25):
        bench.wait(0.1)
    assert servo.error == ServoError.OVERLOAD
    assert bench.read(1, "present_position") == 2048
    bench.write(1, "torque_enable", 0)
    assert bench.read(1, "torque_enable") == 0
    assert servo.error == ServoError.OVERLOAD
    servo.power_cycle()
    assert servo.error == ServoError(0)


def test_voltage_and_temperature_show_in_the_error_byte(bench):
    bench.emulator.servo(2).set("present_voltage", 30)
    bench.emulator.servo(2).set("present_temperature", 90)
    assert bench.send(feetech.ping(2)) == ["FF FF 02 02 05 F6"]


def test_a_hand_moves_passive_joints_at_its_speed():
    emulator = FeetechEmulator((1, 2))
    emulator.move_hand([0.5, -0.5], speed=0.5)
    start_s = time.monotonic()
    for seconds, angle in ((0.5, 0.25), (3.0, 0.5)):
        emulator.feed(feetech.ping(), round((start_s + seconds) * 1e9))
        assert emulator.servo(1).actual == pytest.approx(2048 + angle * 4096 / 6.2832, abs=3)
        assert emulator.servo(2).actual == pytest.approx(2048 - angle * 4096 / 6.2832, abs=3)
    with pytest.raises(DriverError, match="the hand needs 2 finite joint angles"):
        emulator.move_hand([0.1])


@given(st.lists(st.binary(max_size=30), max_size=10))
@settings(max_examples=200, deadline=None)
def test_arbitrary_bytes_never_crash_the_firmware(chunks):
    bench = Bench(1, 255 - 2)
    for chunk in chunks:
        bench.send(chunk)
        bench.wait(0.01)


@example(1, feetech.Instruction.READ, b"\x00\xf9")
@example(1, feetech.Instruction.SYNC_READ, b"\x00\xff\x01\x02")
@given(st.integers(0, 253), st.sampled_from(list(feetech.Instruction)), st.binary(max_size=20))
@settings(max_examples=300, deadline=None)
def test_arbitrary_parameters_never_crash_the_firmware(servo_id, instruction, parameters):
    bench = Bench(1, 2)
    for target in (servo_id, 1, feetech.BROADCAST_ID):
        bench.send(feetech.encode(target, instruction, parameters))
        bench.wait(0.05)


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def test_the_program_serves_an_arm_moves_it_and_ends_cleanly(tmp_path):
    link = tmp_path / "leader"
    command = [sys.executable, "-m", "drivers.emulators.feetech", "--joints", "2", "--pty-link", str(link)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    arm = ServoArm(ServoArmConfig(name="leader", port=str(link), joints={"pan": 1, "lift": 2}))
    try:
        assert read_line(process) == f"{link}\n".encode()
        arm.connect()
        assert process.stdin is not None
        process.stdin.write(b"nonsense\n[0.2, -0.1]\n")
        process.stdin.flush()
        deadline = time.monotonic() + 5
        position = (0.0, 0.0)
        while position != pytest.approx((0.2, -0.1), abs=0.002):
            assert time.monotonic() < deadline
            state = arm.read(0.1)
            position = position if state is None else tuple(state.position)
    finally:
        arm.disconnect()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=10)
    assert process.returncode == 0
    assert complaints.startswith(b"ignored 'nonsense'")
    assert not os.path.lexists(link)
