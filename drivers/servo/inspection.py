"""What is on the bus, read before any torque, and whether it is what the configuration and calibration say."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from drivers.errors import DeviceConfigError
from drivers.servo.bus import BusError, ServoBus
from drivers.servo.calibration import ArmCalibration, JointCalibration
from drivers.servo.registers import ServoModel

FIRMWARE = ("firmware_major", "firmware_minor", "firmware")
"""Registers of the version, of which a family has one or two."""


@dataclass(frozen=True, slots=True)
class ServoFacts:
    """One servo as it was found."""

    servo_id: int
    model_number: int
    firmware: tuple[int, ...]
    voltage_v: float
    temperature_c: int
    errors: str
    """Error bits in words, empty if none."""
    latched: str
    """Those of them that stay until the servo is restarted."""
    return_delay_s: float
    homing_offset: int
    mode: int
    drive_mode: int
    """0 where there is none."""
    position_limits: tuple[int, int]
    """Lowest and highest goal [count]."""

    def as_json(self) -> dict[str, object]:
        """Return the facts, JSON-ready."""
        return asdict(self) | {"firmware": ".".join(map(str, self.firmware))}


def inspect_servos(bus: ServoBus, models: Mapping[int, ServoModel]) -> dict[int, ServoFacts]:
    """Read the facts of servos, id -> expected model; those that do not answer are not in the result."""
    found: dict[int, ServoFacts] = {}
    for servo_id, model in models.items():
        try:
            found[servo_id] = _inspect(bus, model, servo_id)
        except BusError:
            continue  # absence is the result here; `require_expected` names it
    return found


def _inspect(bus: ServoBus, model: ServoModel, servo_id: int) -> ServoFacts:
    def value(name: str) -> int:
        return bus.value(servo_id, model[name])

    status = value("status")
    return ServoFacts(
        servo_id=servo_id,
        model_number=value("model_number"),
        firmware=tuple(value(name) for name in FIRMWARE if name in model),
        voltage_v=value("present_voltage") / 10,
        temperature_c=value("present_temperature"),
        errors=model.codec.status_words(status),
        latched=model.codec.status_words(status & model.latching),
        return_delay_s=value("return_delay") * model.return_delay_unit_s,
        homing_offset=value("homing_offset"),
        mode=value("mode"),
        drive_mode=value("drive_mode") if "drive_mode" in model else 0,
        position_limits=(value("min_position_limit"), value("max_position_limit")),
    )


def is_expected(models: Mapping[int, ServoModel], found: Mapping[int, ServoFacts]) -> bool:
    """Return whether every expected servo was found and is of its model."""
    return all(
        servo_id in found and found[servo_id].model_number in model.numbers for servo_id, model in models.items()
    )


def require_expected(
    where: str, models: Mapping[int, ServoModel], joints: Mapping[str, int], found: Mapping[int, ServoFacts]
) -> None:
    """Compare the servos expected with those found.

    Raises:
        DeviceConfigError: A servo is missing or of another model; one sentence lists all, expected and found.
    """
    missing = [f"{joint} (id {servo_id})" for joint, servo_id in joints.items() if servo_id not in found]
    wrong = [
        f"{joint} (id {servo_id}) is model {found[servo_id].model_number}"
        for joint, servo_id in joints.items()
        if servo_id in found and found[servo_id].model_number not in models[servo_id].numbers
    ]
    if not missing and not wrong:
        return
    expected = ", ".join(str(servo_id) for servo_id in joints.values())
    numbers = {number: name for model in models.values() for number, name in model.numbers.items()}
    allowed = " or ".join(f"{name} (model {number})" for number, name in numbers.items())
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
    """Compare the homing offsets and drive modes that the servos hold with those of the calibration.

    Raises:
        DeviceConfigError: One was changed since the calibration, so its angles would be wrong.
    """
    changed = []
    for what in ("homing_offset", "drive_mode"):
        for name, joint in calibration.joints.items():
            held, calibrated = getattr(found[joint.servo_id], what), getattr(joint, what)
            if held != calibrated:
                words = what.replace("_", " ")
                changed.append(f"{name} (id {joint.servo_id}) holds {words} {held}, calibrated with {calibrated}")
    if changed:
        raise DeviceConfigError(
            f"{where}: a servo's settings have changed since calibration {calibration.arm_id} of {calibration.date}: "
            f"{'; '.join(changed)}: calibrate again, or use the file that belongs to this arm"
        )


def require_drivable(
    where: str,
    models: Mapping[int, ServoModel],
    joints: Mapping[str, JointCalibration],
    found: Mapping[int, ServoFacts],
) -> None:
    """Check what a follower needs on top: a position mode, nothing latched, a range that goals can reach.

    Raises:
        DeviceConfigError: One sentence lists every joint that cannot be driven.
    """
    problems: list[str] = []
    for name, joint in joints.items():
        which = f"{name} (id {joint.servo_id})"
        problems += (
            f"{which} {problem}" for problem in _obstacles(models[joint.servo_id], joint, found[joint.servo_id])
        )
    if problems:
        raise DeviceConfigError(f"{where} cannot be driven: {'; '.join(problems)}")


def _obstacles(model: ServoModel, joint: JointCalibration, facts: ServoFacts) -> Iterator[str]:
    if facts.latched:
        remedy = "reboot it" if model.codec.reboot(facts.servo_id) else "switch its power off and on"
        yield f"has a latched {facts.latched}: free the joint, {remedy}"
    if facts.mode not in model.position_modes:
        modes = " or ".join(str(mode) for mode in model.position_modes)
        yield f"is in mode {facts.mode}, not in position mode {modes}"
    elif not model.position_modes[facts.mode]:
        low, high = facts.position_limits
        if joint.minimum < 0 or joint.maximum >= model.counts_per_turn:
            yield (
                f"has the range {joint.minimum} to {joint.maximum}, and a follower cannot cross "
                f"{model.counts_per_turn - 1}: calibrate it with homing"
            )
        elif model.refuses_beyond_limits and (joint.minimum < low or joint.maximum > high):
            yield (
                f"has the range {joint.minimum} to {joint.maximum}, but refuses goals outside {low} to {high}: widen "
                "its position limits, or calibrate within them"
            )
