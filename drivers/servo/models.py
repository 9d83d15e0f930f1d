"""Which type of servo moves each joint of a configuration."""

from collections.abc import Mapping

from drivers.configs import ServoArmConfig
from drivers.errors import DeviceConfigError
from drivers.servo.control_table import model_called
from drivers.servo.registers import ServoModel


def models_of(config: ServoArmConfig) -> dict[int, ServoModel]:
    """Return servo id -> table, in joint order."""
    return {
        servo_id: model_called(config.joint_models.get(joint, config.model))
        for joint, servo_id in config.joints.items()
    }


def require_sound(where: str, config: ServoArmConfig, models: Mapping[int, ServoModel]) -> None:
    """Check that joints, ids and models go together.

    Raises:
        DeviceConfigError: They do not; the text names the joints or models.
    """
    if len(set(config.joints.values())) != len(config.joints):
        raise DeviceConfigError(f"{where}: every joint needs an id of its own, not {config.joints}")
    if unknown := config.joint_models.keys() - config.joints.keys():
        raise DeviceConfigError(
            f"{where}: joint_models names {', '.join(sorted(unknown))}; the joints are {', '.join(config.joints)}"
        )
    family = model_called(config.model).codec
    if foreign := sorted({model.name for model in models.values() if model.codec is not family}):
        raise DeviceConfigError(f"{where}: {', '.join(foreign)} and {config.model} do not speak the same protocol")
