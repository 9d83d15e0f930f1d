"""`teleop episodes`: look after what was recorded."""

from collections.abc import Callable
from typing import Any

import typer

from teleop_app.cli import episodes_change, episodes_check, episodes_look

HELP = """Look after recorded episodes.

Exit codes: 0 all is well; 1 something recorded was found wanting; 2 the command or the files do not allow it, and one
sentence on standard error says why.
"""
COMMANDS: dict[str, Callable[..., Any]] = {
    "list": episodes_look.list_,
    "show": episodes_look.show,
    "du": episodes_look.du,
    "verify": episodes_check.verify,
    "recover": episodes_check.recover,
    "label": episodes_change.label,
    "trim": episodes_change.trim,
    "discard": episodes_change.discard,
    "restore": episodes_change.restore,
    "merge": episodes_change.merge,
}

app = typer.Typer(no_args_is_help=True, help=HELP)
for name, command in COMMANDS.items():
    app.command(name)(command)
