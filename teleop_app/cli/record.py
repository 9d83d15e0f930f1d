"""`teleop record`: episodes from a station, without a person at the keys."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from teleop_app.cli.output import STREAM_COLUMNS, episode_facts, print_json, print_line, print_table, stream_rows


def record(
    station: Annotated[Path, typer.Argument(help="The station file.", show_default=False)],
    *,
    collection: Annotated[Path, typer.Option(help="Folder to record into; made if it does not exist.")],
    task: Annotated[str, typer.Option(help="What is to be done; the station file's task if not given.")] = "",
    episodes: Annotated[int, typer.Option(min=1, help="How many episodes.")] = 1,
    duration: Annotated[float, typer.Option(min=0.1, help="Longest duration of an episode, in seconds.")] = 60.0,
    headless: Annotated[bool, typer.Option("--headless", help="No window.")] = False,
    port: Annotated[int, typer.Option(help="Port for consoles; 0 takes any free one.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Record episodes, each until it is done or its duration is over; Ctrl-C keeps the open one and ends."""
    from teleop_app.cli.window import open_window
    from teleop_app.station.automation import Automation, Plan
    from teleop_app.station.server import StationServer
    from teleop_app.station.station import Station
    from teleop_app.station.station_file import load_station

    config = load_station(station)
    plan = Plan(episodes, duration, task or config.task)
    running = Station(config, collection)
    server = StationServer(running, port=port)
    automation = Automation(running, plan)

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        automation.interrupt()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        running.connect()
        running.start()
        server.wanted = episodes
        server.start()
        window = None if headless else open_window(server.endpoint)
        kept = automation.run(lambda _info: typer.echo(running.session.message, err=True))
        if window is not None:
            window.terminate()
            window.wait(10)
    finally:
        server.stop()
        running.stop()
    if as_json:
        print_json([episode_facts(info) for info in kept])
        return
    for info in kept:
        print_table(f"Episode {info.index}, {info.duration_s:.1f} s", STREAM_COLUMNS, stream_rows(info))
    print_line(f"{len(kept)} episodes in {collection}")
