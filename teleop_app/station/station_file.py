"""Reading a station file: YAML, the file that it may extend, and one sentence for what is wrong with it."""

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from drivers.configs import HealthLimits
from teleop_app.station.config import (
    ARM_CONFIGS,
    ControlConfig,
    EpisodesConfig,
    HandoverConfig,
    LimitsConfig,
    StationConfig,
    WatchdogConfig,
)
from teleop_app.station.errors import StationFileError

MODELS = (
    StationConfig,
    ControlConfig,
    LimitsConfig,
    HandoverConfig,
    WatchdogConfig,
    EpisodesConfig,
    HealthLimits,
    *ARM_CONFIGS,
)
MOST_ANCESTORS = 8


def load_station(path: Path) -> StationConfig:
    """Read a station file.

    A file with `extends: OTHER` starts from that file, beside it: mappings are merged, devices are merged by name,
    everything else is replaced.

    Raises:
        StationFileError: one sentence naming the file, the field, the value and what is allowed.
    """
    document = _read(path, MOST_ANCESTORS)
    try:
        return StationConfig.model_validate(document)
    except ValidationError as error:
        raise StationFileError(f"{path}: {_sentence(error, document)}") from None


def _read(path: Path, ancestors: int) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StationFileError(f"{path}: no such station file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StationFileError(f"{path}: cannot be read: {error}") from None
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise StationFileError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise StationFileError(f"{path}: a station file is a mapping, this is {type(document).__name__}")
    _resolve_paths(document, path.parent)
    parent = document.pop("extends", None)
    if parent is None:
        return document
    if ancestors == 0:
        raise StationFileError(f"{path}: extends: more than {MOST_ANCESTORS} files extend one another")
    return _merged(_read(path.parent / str(parent), ancestors - 1), document)


def _resolve_paths(document: dict[str, Any], folder: Path) -> None:
    """Paths in a station file are relative to that file."""
    devices = document.get("devices")
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, dict) and isinstance(device.get("calibration"), str):
            device["calibration"] = str(folder / device["calibration"])


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        below = base.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            result[key] = _merged(below, value)
        elif key == "devices" and isinstance(below, list) and isinstance(value, list):
            result[key] = _merged_devices(below, value)
        else:
            result[key] = value
    return result


def _merged_devices(base: list[Any], over: list[Any]) -> list[Any]:
    named = {device.get("name"): device for device in base if isinstance(device, dict)}
    for device in over:
        if isinstance(device, dict):
            named[device.get("name")] = {**named.get(device.get("name"), {}), **device}
    return list(named.values())


def _sentence(error: ValidationError, document: dict[str, Any]) -> str:
    """The first problem of a validation, in words, with the number of further ones."""
    # A tuple whose only item is wrong is also reported as too short; the item's own problem says enough.
    problems = [problem for problem in error.errors() if problem["type"] != "too_short"] or error.errors()
    first = problems[0]
    where = _place(first["loc"], document)
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = f"unknown field{_nearest(str(first['loc'][-1]))}"
    elif first["type"] == "union_tag_invalid":
        context = first["ctx"]
        message = f"{context['discriminator']} {context['tag']!r} is not known; known are {context['expected_tags']}"
    elif first["type"] == "missing":
        message = "this field is needed"
    elif first["type"] != "value_error":
        message = f"{message}, found {first['input']!r}"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{where + ': ' if where else ''}{message}{more}"


def _place(location: tuple[int | str, ...], document: dict[str, Any]) -> str:
    """Where a problem is, with a device by its name rather than its number in the list."""
    parts = [str(part) for part in location]
    if len(location) > 1 and location[0] == "devices" and isinstance(location[1], int):
        device = document["devices"][location[1]]
        name = device.get("name") if isinstance(device, dict) else None
        rest = (
            parts[3:] if len(parts) > 2 and isinstance(device, dict) and parts[2] == device.get("driver") else parts[2:]
        )
        parts = [f"devices[{name or location[1]}]", *rest]
    return ".".join(parts)


def _nearest(field: str) -> str:
    """Suggest a known field name close to a misspelt one."""
    known = {name for model in MODELS for name in model.model_fields}
    close = difflib.get_close_matches(field, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
