"""`teleop station`: a station that runs until it is told to end, for consoles to connect to."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from teleop_app.cli.output import print_line
from teleop_app.station.messages import DEFAULT_REQUEST_PORT


def station(
    station_file: Annotated[Path, typer.Argument(help="The station file.", show_default=False)],
    *,
    collection: Annotated[Path, typer.Option(help="Folder to record into; made if it does not exist.")],
    port: Annotated[int, typer.Option(help="Port for consoles; 0 takes any free one.")] = DEFAULT_REQUEST_PORT,
) -> None:
    """Run a station headless; prints where consoles connect. SIGTERM or Ctrl-C ends it and holds the arm."""
    from teleop_app.station.server import StationServer
    from teleop_app.station.station import Station
    from teleop_app.station.station_file import load_station

    running = Station(load_station(station_file), collection)
    server = StationServer(running, port=port)

    def end(_signal: int, _frame: FrameType | None) -> None:
        server.ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        running.connect()
        running.start()
        server.start()
        print_line(f"station {running.config.station} at {server.endpoint}")
        server.ended.wait()
    finally:
        server.stop()
        running.stop()
