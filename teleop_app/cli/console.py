"""`teleop console`: the operator's window, on a station of its own or on one that runs already."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from teleop_app.cli.extras import extra
from teleop_app.station.errors import StationError
from teleop_app.station.messages import DEFAULT_REQUEST_PORT


def console(
    station_file: Annotated[
        Path | None, typer.Argument(help="Start this station and open the window on it.", show_default=False)
    ] = None,
    *,
    connect: Annotated[str, typer.Option(help="Where a station runs.")] = f"tcp://127.0.0.1:{DEFAULT_REQUEST_PORT}",
    collection: Annotated[Path, typer.Option(help="Folder to record into, with a station file.")] = Path("episodes"),
    theme: Annotated[Literal["dark", "light"], typer.Option(help="Colours.")] = "dark",
    screenshot: Annotated[Path | None, typer.Option(help="Save a picture of the window, then go on.")] = None,
    quit_after: Annotated[float | None, typer.Option(help="Close by itself after so many seconds.")] = None,
) -> None:
    """Open the window. Closing it ends a station that it started, never one that ran before."""
    with extra("console", "the window"):
        from teleop_app.console.app import run_console

    if station_file is None:
        raise typer.Exit(run_console(connect, theme=theme, screenshot=screenshot, quit_after_s=quit_after))
    process, endpoint = start_station(station_file, collection)
    try:
        code = run_console(endpoint, theme=theme, screenshot=screenshot, quit_after_s=quit_after, owns_station=True)
    finally:
        process.terminate()
        process.wait(30)
    raise typer.Exit(code)


def start_station(station_file: Path, collection: Path) -> "tuple[subprocess.Popen[str], str]":
    """Start a station as a process of its own and wait until consoles can connect.

    Returns:
        The process, and the endpoint for requests.

    Raises:
        StationError: it did not start; its own sentence went to standard error.
    """
    command = [sys.executable, "-m", "teleop_app", "station", str(station_file), "--collection", str(collection)]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True, start_new_session=True)
    line = process.stdout.readline() if process.stdout is not None else ""
    if " at " not in line:
        process.wait(30)
        raise StationError("the station did not start; the line above says why")
    return process, line.split(" at ")[-1].strip()
