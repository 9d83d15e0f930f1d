"""All types of servos that the driver knows, by the name that a station file uses."""

from collections.abc import Mapping
from types import MappingProxyType

from drivers.errors import DeviceConfigError
from drivers.servo.dynamixel_table import X_SERIES
from drivers.servo.feetech_table import STS3215
from drivers.servo.registers import ServoModel

MODELS: Mapping[str, ServoModel] = MappingProxyType({model.name: model for model in (STS3215, *X_SERIES)})
"""Configuration's `model` -> table."""


def model_called(name: str) -> ServoModel:
    """Return the table of the model called `name`.

    Raises:
        DeviceConfigError: No such table.
    """
    if name not in MODELS:
        raise DeviceConfigError(f"there is no control table for servo model {name}; known are {', '.join(MODELS)}")
    return MODELS[name]
