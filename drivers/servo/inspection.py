"""What is on the bus, read before any torque, and whether it is what the configuration and calibration say."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from drivers.errors import DeviceConfigError
from drivers.servo.bus import BusError, ServoBus
from drivers.servo.calibration import ArmCalibration, JointCalibration
from drivers.servo.control_table import ServoModel
from drivers.servo.feetech import ServoError

POSITION_MODE = 0


@dataclass(frozen=True, slots=True)
class ServoFacts:
    """One servo as it was found."""

    servo_id: int
    model_number: int
    firmware: str
    voltage_v: float
    temperature_c: int
    errors: str
    """Error bits in words, empty if none."""
    return_delay_s: float
    homing_offset: int
    mode: int

    @property
    def overloaded(self) -> bool:
        """Whether the overload protection has latched."""
        return ServoError.OVERLOAD.words in self.errors.split(", ")

    def as_json(self) -> dict[str, object]:
        """Return the facts, JSON-ready."""
        return asdict(self)


def inspect_servos(bus: ServoBus, model: ServoModel, servo_ids: Sequence[int]) -> dict[int, ServoFacts]:
    """Read the facts of `servo_ids`; those that do not answer are not in the result."""
    found: dict[int, ServoFacts] = {}
    for servo_id in servo_ids:
        try:
            found[servo_id] = _inspect(bus, model, servo_id)
        except BusError:
            continue  # absence is the result here; `require_expected` names it
    return found


def _inspect(bus: ServoBus, model: ServoModel, servo_id: int) -> ServoFacts:
    def value(name: str) -> int:
        return bus.value(servo_id, model[name])

    return ServoFacts(
        servo_id=servo_id,
        model_number=value("model_number"),
        firmware=f"{value('firmware_major')}.{value('firmware_minor')}",
        voltage_v=value("present_voltage") / 10,
        temperature_c=value("present_temperature"),
        errors=ServoError(value("status")).words,
        return_delay_s=value("return_delay") * model.return_delay_unit_s,
        homing_offset=value("homing_offset"),
        mode=value("mode"),
    )


def require_expected(where: str, model: ServoModel, joints: Mapping[str, int], found: Mapping[int, ServoFacts]) -> None:
    """Compare the servos expected with those found.

    Raises:
        DeviceConfigError: A servo is missing or of another model; one sentence lists all, expected and found.
    """
    missing = [f"{joint} (id {servo_id})" for joint, servo_id in joints.items() if servo_id not in found]
    wrong = [
        f"{joint} (id {servo_id}) is model {found[servo_id].model_number}"
        for joint, servo_id in joints.items()
        if servo_id in found and found[servo_id].model_number not in model.numbers
    ]
    if not missing and not wrong:
        return
    expected = ", ".join(str(servo_id) for servo_id in joints.values())
    allowed = " or ".join(f"{name} (model {number})" for number, name in model.numbers.items())
    present = ", ".join(f"{servo_id} (model {facts.model_number})" for servo_id, facts in sorted(found.items()))
    problems = ([f"missing {', '.join(missing)}"] if missing else []) + ([f"wrong {', '.join(wrong)}"] if wrong else [])
    raise DeviceConfigError(
        f"{where}: expected {allowed} at ids {expected}, found {present or 'no servo'}: {'; '.join(problems)}: "
        "check power and the daisy chain, and the ids in the station file"
    )


def require_calibration(where: str, joints: Mapping[str, int], calibration: ArmCalibration) -> None:
    """Compare the joints of a calibration with those of the configuration.

    Raises:
        DeviceConfigError: Names or ids differ.
    """
    calibrated = {name: joint.servo_id for name, joint in calibration.joints.items()}
    if calibrated != dict(joints):
        raise DeviceConfigError(
            f"{where}: calibration {calibration.arm_id} is for joints {calibrated}, the station file has {dict(joints)}"
        )


def require_unchanged(where: str, calibration: ArmCalibration, found: Mapping[int, ServoFacts]) -> None:
    """Compare the homing offsets that the servos hold with those of the calibration.

    Raises:
        DeviceConfigError: An offset was changed since the calibration, so its angles would be wrong.
    """
    held = {name: found[joint.servo_id].homing_offset for name, joint in calibration.joints.items()}
    changed = [
        f"{name} (id {joint.servo_id}) holds {held[name]}, calibrated with {joint.homing_offset}"
        for name, joint in calibration.joints.items()
        if held[name] != joint.homing_offset
    ]
    if changed:
        raise DeviceConfigError(
            f"{where}: the homing offset has changed since calibration {calibration.arm_id} of {calibration.date}: "
            f"{'; '.join(changed)}: calibrate again, or use the file that belongs to this arm"
        )


def require_drivable(
    where: str, model: ServoModel, joints: Mapping[str, JointCalibration], found: Mapping[int, ServoFacts]
) -> None:
    """Check what a follower needs on top: position mode, no latched overload, a range without the encoder's seam.

    Raises:
        DeviceConfigError: One sentence lists every joint that cannot be driven.
    """
    problems = []
    for name, joint in joints.items():
        facts, which = found[joint.servo_id], f"{name} (id {joint.servo_id})"
        if facts.mode != POSITION_MODE:
            problems.append(f"{which} is in mode {facts.mode}, not in position mode {POSITION_MODE}")
        if facts.overloaded:
            problems.append(f"{which} has a latched overload: free the joint, switch its power off and on")
        if joint.minimum < 0 or joint.maximum >= model.counts_per_turn:
            problems.append(
                f"{which} has the range {joint.minimum} to {joint.maximum}, and a follower cannot cross "
                f"{model.counts_per_turn - 1}: calibrate it with homing"
            )
    if problems:
        raise DeviceConfigError(f"{where} cannot be driven: {'; '.join(problems)}")
