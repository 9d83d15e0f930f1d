"""An arm of serial bus servos: a passive leader that a person holds, or a follower that is driven.

A sample is whole or it is not delivered: if one joint stays silent through the retries, that sample is skipped and
counted. A follower keeps its torque and its place whenever commands end, also after `disconnect`.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from drivers import clock
from drivers.configs import ServoArmConfig
from drivers.errors import CommandRejectedError, DriverError
from drivers.samples import FloatArray, JointCommand, JointState, StampSource, frozen_array
from drivers.servo import inspection
from drivers.servo.ailments import Ailments
from drivers.servo.bus import BlockRead, BusError, ServoBus
from drivers.servo.calibration import ArmCalibration, JointCalibration, default_joints, load_calibration
from drivers.servo.control_table import model_called
from drivers.servo.group import WATCHDOG_S, ServoGroup
from drivers.servo.models import models_of, require_sound
from drivers.servo.pace import Pace
from drivers.servo.port import SerialPort
from drivers.servo.scale import IntArray, JointScale, require_positions

log = logging.getLogger(__name__)

RETRY_BUDGET_NS = 15_000_000
"""How long after its deadline a sample may still be asked for again: a late sample is better than none [ns]."""
SILENCE_LIMIT_S = 0.5
"""A joint silent for longer is an error, not a gap [s]."""


class ServoArm:
    """The `Arm` of a `ServoArmConfig`."""

    def __init__(self, config: ServoArmConfig) -> None:
        """Remember the configuration; no I/O."""
        self._config = config
        model = model_called(config.model)
        self._models = models_of(config)
        self._baud = config.baud or model.default_baud
        self._ids = tuple(self._models)
        self._joint_of = {servo_id: name for name, servo_id in config.joints.items()}
        self._bus = ServoBus(SerialPort(config.port, self._baud), model.codec)
        self._where = f"{config.name} on {config.port}"
        self._servos = ServoGroup(self._bus, self._models)
        self._calibration: ArmCalibration | None = None
        self._velocity_unit = model.velocity_unit
        self._scale = self._make_scale()
        self._turns: IntArray = np.zeros(len(self._ids), dtype=np.int64)
        self._found: dict[int, inspection.ServoFacts] = {}
        self._pace = Pace(config.rate_hz)
        self._answered_ns = 0
        self._may_have_stopped = False
        self._connected = False
        self._counts: Counter[str] = Counter()
        self._ailments = Ailments(self._where, self._servos, self._joint_of)

    @property
    def name(self) -> str:
        """The device's name in the station file."""
        return self._config.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names in the order of every array."""
        return tuple(self._config.joints)

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Lowest and highest calibrated angle of each joint [rad], each of shape (n_joints,)."""
        return self._scale.limits

    @property
    def servo_errors(self) -> Mapping[str, str]:
        """Joints whose latest reply carried error bits -> the bits in words."""
        return dict(self._ailments.words)

    def connect(self) -> None:
        """Open the port, check every servo, and only then release a leader or engage a follower.

        Raises:
            PortError: The port is missing, not permitted or in use.
            DeviceConfigError: Servos or calibration are not what the configuration says.
            BusError: A servo stopped answering on the way.
        """
        if self._connected:
            return
        require_sound(self._where, self._config, self._models)
        try:
            self._load_calibration()
            self._bus.open()
            self._examine()
            if self._config.role == "follower":
                self._engage()
            elif stuck := self.release():
                raise BusError(f"{self._where}: the torque of {', '.join(stuck)} cannot be switched off")
        except DriverError:
            self._bus.close()
            raise
        self._counts.clear()
        self._pace.restart()
        self._answered_ns = clock.now_ns()
        self._connected = True

    def disconnect(self) -> None:
        """Hold a follower where it is, torque on; release a leader; then close the port."""
        was_connected, self._connected = self._connected, False
        try:
            if was_connected and self._config.role == "follower":
                self._leave()
            elif was_connected:
                self.release()
        except DriverError as error:
            log.warning("%s: %s", self._where, error)
        self._bus.close()

    def facts(self) -> Mapping[str, object]:
        """Return what was found on the bus, the calibration, and how the transfers went, JSON-ready."""
        calibration = self._calibration
        return {
            "driver": self._config.driver,
            "port": self._config.port,
            "baud": self._baud,
            "role": self._config.role,
            "echo": self._bus.echo,
            "reading": "sync read" if self._bus.fast is None else "fast sync read",
            "port_note": self._bus.port.latency_note,
            "calibration": "default: count 2048 is 0 rad" if calibration is None else calibration.arm_id,
            "calibration_date": None if calibration is None else calibration.date,
            "servos": {self._joint_of[servo_id]: facts.as_json() for servo_id, facts in self._found.items()},
            "transfers": {**self._bus.counts, **self._counts, "overrun": self._pace.missed},
        }

    def dropped(self) -> int:
        """Samples not delivered since `connect`: a joint was silent, or the deadline was missed."""
        return self._counts["incomplete"] + self._pace.missed

    def read(self, timeout_s: float) -> JointState | None:
        """Measure at the next deadline; None after `timeout_s` without a whole sample.

        Raises:
            PortError: The port is gone.
            BusError: A joint has been silent for longer than `SILENCE_LIMIT_S`.
        """
        self._require_connected()
        end_ns = clock.now_ns() + round(timeout_s * 1e9)
        while (due_ns := self._pace.due_ns()) <= end_ns:
            clock.sleep_until_ns(due_ns)
            state = self._measure(max(self._pace.take(due_ns), clock.now_ns() + RETRY_BUDGET_NS))
            if state is not None:
                return state
        clock.sleep_until_ns(end_ns)
        return None

    def command(self, command: JointCommand) -> JointCommand:
        """Send goals, limited to the calibrated range; return what was sent, in whole encoder counts.

        Raises:
            CommandRejectedError: Wrong length, not finite, or the arm is a leader; nothing is sent.
            PortError: The port is gone.
            BusError: Servos have stopped because they heard nothing; they hold, and take no goals.
        """
        self._require_connected()
        if self._config.role != "follower":
            raise CommandRejectedError(f"{self._where} is a leader and takes no commands")
        wanted = command.position
        require_positions(self.name, self.joint_names, wanted)
        self._require_listening()
        low, high = self._scale.limits
        self._counts["clamped"] += int(((wanted < low) | (wanted > high)).any())
        counts, sent = self._scale.goals(wanted)
        self._servos.drive(dict(zip(self._ids, (counts + self._turns).tolist(), strict=True)))
        return JointCommand(command.stamp_ns, frozen_array(sent))

    def hold(self) -> None:
        """Make the present position the goal of every joint that answers; the others keep their last goal.

        Raises:
            PortError: The port is gone; the servos hold their last goal.
        """
        self._require_connected()
        if self._config.role == "follower":
            self._hold_in_place()

    def release(self) -> tuple[str, ...]:
        """Switch every joint's torque off, each on its own; return the joints that could not be released.

        Raises:
            PortError: The port is gone.
        """
        stuck = self._servos.release()
        for servo_id, error in stuck.items():
            log.error("%s: %s is not released: %s", self._where, self._joint_of[servo_id], error)
        return tuple(self._joint_of[servo_id] for servo_id in stuck)

    def reboot(self) -> tuple[str, ...]:
        """Restart the servos with latched errors; a connected follower is engaged again, where it then is.

        Their torque was off meanwhile: support the arm. Returns the joints restarted; raises PortError or BusError.
        """
        self._bus.open()
        try:
            rebooted = self._servos.reboot()
            if rebooted and self._connected and self._config.role == "follower":
                self._engage()  # asked for by whoever holds the arm
        finally:
            if not self._connected:
                self._bus.close()
        return tuple(self._joint_of[servo_id] for servo_id in rebooted)

    def _require_listening(self) -> None:
        """A servo that has stopped for want of messages ignores goals, and nobody acknowledges a sync write."""
        silent = clock.now_ns() - self._answered_ns > WATCHDOG_S * 1e9
        if silent or self._may_have_stopped:
            self._servos.require_listening(self._where, self._joint_of)
            self._may_have_stopped = False

    def _leave(self) -> None:
        """Hold in place, for good: nobody will talk to the servos."""
        for servo_id, error in self._servos.leave_alone().items():
            log.warning("%s: %s: %s", self._where, self._joint_of[servo_id], error)
        self._hold_in_place()

    def _require_connected(self) -> None:
        if not self._connected:
            raise DriverError(f"{self._where} is not connected")

    def _load_calibration(self) -> None:
        self._calibration = None
        if self._config.calibration is not None:
            self._calibration = load_calibration(Path(self._config.calibration))
            inspection.require_calibration(self._where, self._config.joints, self._calibration)
        self._scale = self._make_scale()

    @property
    def _joints(self) -> Mapping[str, JointCalibration]:
        return default_joints(self._config.joints) if self._calibration is None else self._calibration.joints

    def _make_scale(self) -> JointScale:
        return JointScale([self._joints[name] for name in self._config.joints], self._velocity_unit)

    def _examine(self) -> None:
        """Compare what is on the bus with what should be; nothing is written."""
        self._bus.fast = None
        self._bus.learn_echo(self._ids[0])
        self._found = inspection.inspect_servos(self._bus, self._models)
        if not inspection.is_expected(self._models, self._found):
            others = dict.fromkeys(set(self._bus.scan()) - set(self._found), model_called(self._config.model))
            self._found |= inspection.inspect_servos(self._bus, others)
        inspection.require_expected(self._where, self._models, self._config.joints, self._found)
        if self._calibration is not None:
            inspection.require_unchanged(self._where, self._calibration, self._found)
        if self._config.role == "follower":
            inspection.require_drivable(self._where, self._models, self._joints, self._found)
        self._found = {servo_id: self._found[servo_id] for servo_id in self._ids}
        self._bus.return_delay_s = max(facts.return_delay_s for facts in self._found.values())
        if all(self._found[servo_id].firmware[0] >= model.fast_firmware for servo_id, model in self._models.items()):
            self._bus.fast = model_called(self._config.model).fast

    def _engage(self) -> None:
        """Take torque in place; a servo that counts on beyond its turn gets its goals in the turn where it is."""
        present = np.array(self._servos.engage(), dtype=np.int64)
        leaves_turn = [self._models[i].position_modes[self._found[i].mode] for i in self._ids]
        self._turns = np.where(leaves_turn, self._scale.turns(present), 0)
        self._may_have_stopped = False

    def _measure(self, give_up_ns: int) -> JointState | None:
        block = self._servos.measure(give_up_ns)
        self._ailments.note(block)
        if block.missing:
            self._note_silence(block)
            return None
        self._may_have_stopped |= block.received_ns - self._answered_ns > WATCHDOG_S * 1e9
        self._answered_ns = block.received_ns
        measured = [self._servos.decode(reply.data) for reply in block.replies.values() if reply.data is not None]
        counts: IntArray = np.array(measured, dtype=np.int64).T
        return JointState(
            stamp_ns=(block.sent_ns + block.received_ns) // 2,
            received_ns=block.received_ns,
            position=frozen_array(self._scale.positions(counts[0])),
            velocity=frozen_array(self._scale.velocities(counts[1])),
            effort=frozen_array(np.full(len(measured), np.nan)),
            stamp_source=StampSource.HOST,
        )

    def _note_silence(self, block: BlockRead) -> None:
        self._counts["incomplete"] += 1
        silent_s = (clock.now_ns() - self._answered_ns) / 1e9
        if silent_s > SILENCE_LIMIT_S:
            joints = ", ".join(f"{self._joint_of[servo_id]} (id {servo_id})" for servo_id in block.missing)
            raise BusError(f"{self._where}: no whole sample for {silent_s:.1f} s, no valid reply from {joints}")

    def _hold_in_place(self) -> None:
        for servo_id in self._servos.hold():
            log.warning("%s: %s did not answer and holds its last goal", self._where, self._joint_of[servo_id])
