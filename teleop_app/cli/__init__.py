"""The command line: `teleop VERB`. Importing it loads no device library, no Qt and no exporter."""

import logging
import sys
from typing import Annotated

import typer

from drivers.errors import DriverError
from recorder.errors import RecorderError
from teleop_app import __version__
from teleop_app.cli import console, episodes, export, record, replay, send, station
from teleop_app.station.errors import StationError

USER_ERROR = 2
"""Exit code when the user, the files or the hardware are at fault."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Teleoperate, take over a running policy, record episodes, export training sets.",
)
app.add_typer(episodes.app, name="episodes")
app.add_typer(export.app, name="export")
app.command("console")(console.console)
app.command("record")(record.record)
app.command("station")(station.station)
app.command("send")(send.send)
app.command("status")(send.status)
app.command("replay")(replay.replay)


def _print_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"teleop {__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the log of what happens.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options for every verb."""
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)


def main() -> None:
    """Run; a user's mistake is one sentence on standard error and exit code 2."""
    try:
        app()
    except (StationError, DriverError, RecorderError) as error:
        sys.stderr.write(f"teleop: {error}\n")
        sys.exit(USER_ERROR)
