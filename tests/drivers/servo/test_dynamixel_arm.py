"""Bus, leader and follower against the emulated DYNAMIXEL firmware."""

import math
import time

import numpy as np
import pytest

from drivers import clock
from drivers.configs import ServoArmConfig
from drivers.emulators.dynamixel import DynamixelEmulator
from drivers.emulators.faults import Fault, FaultKind
from drivers.emulators.pty import PtyServer
from drivers.errors import DeviceConfigError
from drivers.servo import dynamixel
from drivers.servo.arm import ServoArm
from drivers.servo.bus import BusError, ServoBus
from drivers.servo.calibration import ArmCalibration, RevoluteCalibration, homing_offset, save_calibration
from drivers.servo.control_table import MODELS
from drivers.servo.dynamixel_errors import HardwareError
from drivers.servo.port import SerialPort
from tests.contracts.arm import ArmContract, command_to, next_state

JOINTS = dict(zip(("pan", "lift", "elbow", "flex", "roll", "gripper"), range(1, 7), strict=True))
IDS = tuple(JOINTS.values())
TABLE = MODELS["xl330-m288"]
POSITION, VELOCITY, CURRENT = (TABLE[f"present_{what}"] for what in ("position", "velocity", "current"))
RAD = 2 * math.pi / 4096


class Line:
    """Emulator, server and what tests do to them."""

    def __init__(self) -> None:
        self.emulator = DynamixelEmulator(IDS)
        for servo in self.emulator.servos:
            servo.set("return_delay", 0)
        self.server = PtyServer(self.emulator)
        self.server.start()

    def inject(self, kind: FaultKind, **more: object) -> None:
        self.server.faults.inject(Fault(kind, **more))

    def place(self, *counts: int) -> None:
        for servo, count in zip(self.emulator.servos, counts, strict=True):
            servo.hand = lambda _, count=count: float(count)

    def all(self, name: str) -> list[int]:
        return [servo.get(name) for servo in self.emulator.servos]

    def wait_for(self, condition) -> None:
        deadline = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < deadline, "condition not met in time"
            time.sleep(0.001)


@pytest.fixture
def line():
    line = Line()
    yield line
    line.server.stop()


@pytest.fixture
def bus(line):
    bus = ServoBus(SerialPort(line.server.path, 1_000_000), dynamixel)
    bus.open()
    bus.port.latency_s = 0.05  # the tests' machine may be busy
    yield bus
    bus.close()


@pytest.fixture
def make_arm(line):
    arms = []

    def make(role="leader", **more):
        config = {"joints": JOINTS, "model": "xl330-m288", "baud": 1_000_000, "rate_hz": 200, **more}
        arms.append(ServoArm(ServoArmConfig(name="arm", port=line.server.path, role=role, **config)))
        return arms[-1]

    yield make
    for arm in arms:
        arm.disconnect()


class TestDynamixelArm(ArmContract):
    @pytest.fixture
    def arm(self, make_arm):
        return make_arm("follower")

    @pytest.fixture
    def reachable(self):
        return np.array([0.1, -0.1, 0.2, 0.0, 0.15, 0.3])


def calibration(tmp_path, **changes):
    joints = {name: RevoluteCalibration(servo_id=servo_id) for name, servo_id in JOINTS.items()}
    path = tmp_path / "arm.yaml"
    save_calibration(ArmCalibration(arm_id="red", date="2026-11-30", joints=joints | changes), path)
    return str(path)


def positions(block):
    return [None if reply.data is None else POSITION.decode(reply.data) for reply in block.replies.values()]


@pytest.fixture(params=["sync", "fast"])
def reading(request, bus):
    bus.fast = dynamixel if request.param == "fast" else None
    return bus


def test_all_servos_answer_a_scan_and_one_transaction_reads_all(line, reading):
    assert reading.scan() == list(IDS)
    line.place(100, 200, 300, 400, 500, 600)
    reading.ping(1)
    block = reading.sync_read(IDS, POSITION.address, 4)
    assert positions(block) == [100, 200, 300, 400, 500, 600]
    assert not reading.counts


def test_negative_neighbours_that_form_a_header_come_through(line, reading):
    for servo in line.emulator.servos:
        servo.set("torque_enable", 1)
        servo.set("mode", 0)  # not a position mode: nothing moves
        servo.memory[126:136] = CURRENT.encode(-1) + VELOCITY.encode(-3) + POSITION.encode(-1)
        servo._publish = lambda: None
    before = time.monotonic()
    block = reading.sync_read(IDS, CURRENT.address, 10)
    for reply in block.replies.values():
        assert reply.data is not None
        assert reply.data[:3] == b"\xff\xff\xfd"
        assert (CURRENT.decode(reply.data), VELOCITY.decode(reply.data[2:])) == (-1, -3)
        assert POSITION.decode(reply.data[6:]) == -1
    assert time.monotonic() - before < 0.045  # stuffing did not make it wait for the deadline
    assert not reading.counts


@pytest.mark.parametrize("kind", [FaultKind.LOST, FaultKind.LATE, FaultKind.CORRUPTED, FaultKind.PARTIAL])
@pytest.mark.parametrize("source", [1, 3, 6])
def test_a_faulty_reply_is_asked_for_again_and_counted(line, reading, kind, source):
    line.place(100, 200, 300, 400, 500, 600)
    reading.ping(1)
    line.inject(kind, source=source, delay_s=0.07)
    assert positions(reading.sync_read(IDS, POSITION.address, 4)) == [100, 200, 300, 400, 500, 600]
    failed = sum(reading.counts.get(name, 0) for name in ("lost", "corrupt", "fast_incomplete"))
    assert failed >= 1
    assert reading.counts["retried"] >= 1


@pytest.mark.parametrize("kind", [FaultKind.DUPLICATED, FaultKind.NOISE])
def test_foreign_bytes_and_duplicates_do_no_harm(line, reading, kind):
    line.inject(kind, remaining=None)
    for _ in range(5):
        assert positions(reading.sync_read(IDS, POSITION.address, 4)) == [2048] * 6


def test_after_a_failed_common_reply_the_next_ones_are_asked_for_singly(line, bus):
    bus.fast = dynamixel
    line.inject(FaultKind.LATE, source=1, delay_s=0.12)  # it comes when something else was asked
    line.place(1, 2, 3, 4, 5, 6)
    bus.ping(6)
    blocks = [positions(bus.sync_read(IDS, POSITION.address, 4)) for _ in range(5)]
    assert all(block in ([1, 2, 3, 4, 5, 6], [None, 2, 3, 4, 5, 6]) for block in blocks)
    assert blocks[-1] == [1, 2, 3, 4, 5, 6]
    assert bus.counts["fast_incomplete"] == 1


def test_an_alert_comes_with_the_data(line, reading):
    line.emulator.servo(6).latch(HardwareError.OVERLOAD)
    reply = reading.sync_read(IDS, POSITION.address, 4).replies[6]
    assert (POSITION.decode(reply.data), reply.error.alert, reply.error.refusal) == (2048, True, "")


def test_what_a_servo_refuses_is_said_and_not_repeated(bus):
    bus.set_value(2, TABLE["torque_enable"], 1)
    with pytest.raises(BusError, match=r"servo id 2 on .* refuses 0 at address 9: access error"):
        bus.set_value(2, TABLE["return_delay"], 0)
    assert bus.counts == {"refused": 1}


def test_a_servo_that_never_acknowledges_is_still_written(line, bus):
    bus.set_value(4, TABLE["response_level"], 1)
    bus.set_value(4, TABLE["torque_enable"], 1)
    assert line.emulator.servo(4).get("torque_enable") == 1


def test_an_echoing_adapter_is_recognised(line):
    server = PtyServer(line.emulator, echo=True)
    server.start()
    config = ServoArmConfig(name="arm", port=server.path, joints=JOINTS, model="xl330-m288", role="follower")
    arm = ServoArm(config)
    try:
        arm.connect()
        assert arm.facts()["echo"] is True
        command_to(arm, np.full(6, 0.1))
        assert next_state(arm).position == pytest.approx(np.zeros(6), abs=0.11)
        assert set(arm.facts()["transfers"]) <= {"clamped", "overrun"}
    finally:
        arm.disconnect()
        server.stop()


def test_a_leader_is_passive_and_reports_where_and_how_fast_the_hand_moves(line, make_arm):
    start_s = clock.now_ns() / 1e9
    line.emulator.follow(lambda time_s: [0.5 * (time_s - start_s)] * 6)
    for servo in line.emulator.servos:
        servo.set("torque_enable", 1)
    arm = make_arm()
    arm.connect()
    assert line.all("torque_enable") == [0] * 6
    for _ in range(5):  # the hand caught up with the joints when they were released
        state = next_state(arm)
    assert state.velocity == pytest.approx([0.5] * 6, abs=0.03)


@pytest.mark.parametrize(("firmware", "reading"), [(46, "fast sync read"), (45, "sync read")])
def test_the_common_reply_is_used_if_every_servo_knows_it(line, make_arm, firmware, reading):
    line.emulator.servo(4).set("firmware", firmware)
    arm = make_arm()
    arm.connect()
    assert arm.facts()["reading"] == reading
    assert next_state(arm).position == pytest.approx(np.zeros(6))


def test_speed_and_models_come_from_the_configuration(line, make_arm):
    line.emulator.servo(1).set("model_number", 1060)
    arm = make_arm("leader", baud=None, joint_models={"pan": "xl430-w250"})
    arm.connect()
    assert arm.facts()["baud"] == 57_600
    with pytest.raises(DeviceConfigError, match=r"wrong pan \(id 1\) is model 1060"):
        make_arm_again(line)
    with pytest.raises(DeviceConfigError, match="sts3215 and xl330-m288 do not speak the same protocol"):
        make_arm(joint_models={"pan": "sts3215"}).connect()
    with pytest.raises(DeviceConfigError, match="joint_models names wrist; the joints are pan, lift"):
        make_arm(joint_models={"wrist": "xl430-w250"}).connect()


def make_arm_again(line):
    server = PtyServer(line.emulator)
    server.start()
    try:
        ServoArm(ServoArmConfig(name="arm", port=server.path, joints=JOINTS, model="xl330-m288")).connect()
    finally:
        server.stop()


def test_a_follower_takes_its_place_before_its_torque_and_is_watched(line, make_arm):
    line.place(1000, 1500, 2000, 2500, 3000, 3500)
    arm = make_arm("follower")
    arm.connect()
    assert line.all("torque_enable") == [1] * 6
    assert line.all("goal_position") == [1000, 1500, 2000, 2500, 3000, 3500]
    assert line.all("bus_watchdog") == [50] * 6
    arm.disconnect()
    assert (line.all("torque_enable"), line.all("bus_watchdog")) == ([1] * 6, [0] * 6)


def test_a_follower_that_heard_nothing_holds_says_so_and_goes_on_after_connecting(line, make_arm):
    arm = make_arm("follower")
    arm.connect()
    next_state(arm)
    command_to(arm, np.full(6, 0.1))
    for servo in line.emulator.servos:
        servo._heard_s -= 2.0  # as if nothing had come for two seconds
    next_state(arm)
    line.wait_for(lambda: line.all("bus_watchdog") == [-1] * 6)
    arm._answered_ns -= 2_000_000_000
    next_state(arm)
    for _ in range(2):
        with pytest.raises(BusError, match=r"pan, lift, .* heard nothing for 1 s, stopped and hold: connect the arm"):
            command_to(arm, np.full(6, 0.2))
        next_state(arm)
    arm.disconnect()
    arm.connect()
    next_state(arm)
    command_to(arm, np.full(6, 0.2))
    assert line.all("bus_watchdog") == [50] * 6


@pytest.mark.parametrize("mode", [4, 5])
def test_a_follower_in_another_turn_is_driven_in_that_turn(line, make_arm, mode):
    for servo in line.emulator.servos:
        servo.set("mode", mode)
    line.place(*[2048 + turn * 4096 for turn in (0, 1, -1, 2, -3, 0)])
    arm = make_arm("follower")
    arm.connect()
    assert next_state(arm).position == pytest.approx(np.zeros(6))
    command_to(arm, np.full(6, 0.3))
    goal = round(2048 + 0.3 / RAD)
    line.wait_for(
        lambda: line.all("goal_position") == [goal, goal + 4096, goal - 4096, goal + 8192, goal - 12288, goal]
    )


def test_a_follower_that_cannot_be_driven_says_why(line, make_arm, tmp_path):
    line.emulator.servo(1).set("mode", 1)
    line.emulator.servo(2).latch(HardwareError.OVERLOAD)
    line.emulator.servo(3).set("max_position_limit", 3000)
    arm = make_arm("follower")
    with pytest.raises(DeviceConfigError) as caught:
        arm.connect()
    for part in (
        "pan (id 1) is in mode 1, not in position mode 3 or 4 or 5",
        "lift (id 2) has a latched overload: free the joint, reboot it",
        "elbow (id 3) has the range 0 to 4095, but refuses goals outside 0 to 3000",
    ):
        assert part in str(caught.value)
    assert line.all("torque_enable") == [0] * 6


def test_reboot_clears_what_has_latched_and_engages_a_connected_follower(line, make_arm):
    line.emulator.servo(2).latch(HardwareError.OVERLOAD)
    arm = make_arm("follower")
    with pytest.raises(DeviceConfigError, match="latched overload"):
        arm.connect()
    assert arm.reboot() == ("lift",)
    arm.connect()
    next_state(arm)
    line.emulator.servo(5).latch(HardwareError.OVERHEATING)
    assert line.all("torque_enable") == [1, 1, 1, 1, 0, 1]
    next_state(arm)
    assert arm.servo_errors == {"roll": "overheating"}
    assert arm.reboot() == ("roll",)
    assert line.all("torque_enable") == [1] * 6
    next_state(arm)
    assert arm.servo_errors == {}
    assert arm.reboot() == ()


def test_one_latched_or_dead_motor_never_keeps_the_others_from_being_released(line, make_arm):
    arm = make_arm("follower")
    arm.connect()
    line.emulator.servo(3).latch(HardwareError.OVERLOAD)
    del line.emulator.servos[4]
    assert arm.release() == ("roll",)
    assert line.all("torque_enable") == [0] * 5


def test_one_reply_in_fifty_lost_leaves_true_values_only(line, make_arm):
    line.place(100, 200, 300, 400, 500, 600)
    arm = make_arm()
    arm.connect()
    line.inject(FaultKind.LOST, remaining=None, every=50)
    states = [next_state(arm) for _ in range(100)]
    for state in states:
        assert state.position == pytest.approx((np.arange(1, 7) * 100 - 2048) * RAD)
    stamps = np.array([state.stamp_ns for state in states])
    assert len(states) + arm.dropped() >= round((stamps[-1] - stamps[0]) / 5e6)
    assert arm.facts()["transfers"]["fast_incomplete"] >= 1


def test_missing_and_wrong_servos_are_listed_before_any_torque(line, make_arm):
    line.emulator.servos.pop()
    line.emulator.servo(2).set("model_number", 1060)
    line.emulator.servo(5).set("id", 9)
    with pytest.raises(DeviceConfigError) as caught:
        make_arm("follower").connect()
    sentence = str(caught.value)
    assert "expected XL330-M288 (model 1200) at ids 1, 2, 3, 4, 5, 6" in sentence
    assert "found 1 (model 1200), 2 (model 1060), 3 (model 1200), 4 (model 1200), 9 (model 1200)" in sentence
    assert "missing roll (id 5), gripper (id 6); wrong lift (id 2) is model 1060" in sentence
    assert line.all("torque_enable") == [0] * 5


def test_changed_offset_and_drive_mode_are_reported_before_torque(line, make_arm, tmp_path):
    line.emulator.servo(3).set("homing_offset", -85)
    line.emulator.servo(4).set("drive_mode", 1)
    with pytest.raises(DeviceConfigError) as caught:
        make_arm("follower", calibration=calibration(tmp_path)).connect()
    assert "elbow (id 3) holds homing offset -85, calibrated with 0" in str(caught.value)
    assert "flex (id 4) holds drive mode 1, calibrated with 0" in str(caught.value)


@pytest.mark.parametrize("actual", [1024, 1500, 2048, 3000, 3072])
def test_the_homing_offset_has_the_sign_that_this_family_adds(line, bus, actual):
    line.place(*[actual] * 6)
    bus.set_value(1, TABLE["homing_offset"], homing_offset(actual, TABLE))
    time.sleep(0.002)  # a period of the firmware
    assert bus.value(1, POSITION) == 2048


def test_an_offset_that_does_not_fit_is_cut():
    assert homing_offset(100, TABLE) == 1024
    assert homing_offset(4000, TABLE) == -1024
