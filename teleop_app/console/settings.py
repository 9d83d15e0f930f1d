"""What the console remembers between starts. A broken file never keeps it from starting: it is put aside and said."""

import logging
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from PyQt6.QtCore import QStandardPaths

logger = logging.getLogger(__name__)


class ConsoleSettings(BaseModel):
    """Version 1; a later version reads the earlier ones."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    geometry: str = ""
    """The window's place, as Qt gives it, in base 64; empty for the default."""
    largest_camera: str = ""
    joint: str = ""
    """Shown in the joint plot; empty for all."""


def settings_path() -> Path:
    """Where the settings are kept, by the platform's custom."""
    base = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericConfigLocation)
    return Path(base) / "teleop" / "console.json"


def load_settings(path: Path) -> tuple[ConsoleSettings, str]:
    """Read the settings; the second value is what to tell the operator, empty if all is well."""
    try:
        return ConsoleSettings.model_validate_json(path.read_text(encoding="utf-8")), ""
    except FileNotFoundError:
        return ConsoleSettings(), ""
    except (OSError, UnicodeDecodeError) as error:
        return ConsoleSettings(), f"The settings cannot be read, starting with the defaults: {error}"
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "text"
        aside = path.with_suffix(".broken.json")
        try:
            path.replace(aside)
        except OSError:
            aside = path
        return (
            ConsoleSettings(),
            f"The settings make no sense ({where}: {first['msg']}); defaults are used, see {aside}",
        )


def save_settings(path: Path, settings: ConsoleSettings) -> None:
    """Write the settings whole or not at all; a failure is logged, never raised."""
    partial = path.with_suffix(".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(settings.model_dump_json(indent=2), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        logger.warning("the console's settings were not saved: %s", error)
