"""`teleop send` and `teleop status`: a running station from the command line."""

from typing import Annotated

import typer

from teleop_app.cli.output import print_json, print_line
from teleop_app.station.messages import DEFAULT_REQUEST_PORT, Verb

Connect = Annotated[str, typer.Option(help="Where the station runs.")]
HERE = f"tcp://127.0.0.1:{DEFAULT_REQUEST_PORT}"


def send(
    verb: Annotated[Verb, typer.Argument(help="What the station is to do.", show_default=False)],
    *,
    task: Annotated[str | None, typer.Option(help="With record and set_task.")] = None,
    reason: Annotated[str | None, typer.Option(help="With reason.")] = None,
    text: Annotated[str | None, typer.Option(help="With note.")] = None,
    connect: Connect = HERE,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Ask a running station to record, stop, take over, release, ...; exit code 2 if it refuses."""
    from teleop_app.station.client import StationClient

    args = {key: value for key, value in (("task", task), ("reason", reason), ("text", text)) if value is not None}
    with StationClient(connect, "command line") as client:
        reply = client.ask(verb, **args)
    if as_json:
        print_json(reply.model_dump(mode="json"))
    else:
        print_line(reply.message or f"{verb.value}: asked")


def status(
    *, connect: Connect = HERE, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """Say who commands, what is recorded, and what is wrong."""
    from teleop_app.station.client import StationClient

    with StationClient(connect, "command line") as client:
        now = client.status()
    if as_json:
        print_json(now.model_dump(mode="json"))
        return
    recording = (
        f"recording episode {now.episode_index} for {now.recording_s:.0f} s" if now.recording else "not recording"
    )
    print_line(f"{now.station}: {now.control_source} ({now.phase}), {recording}. {now.advice}")
    for stream in now.streams:
        print_line(f"  {stream.name}: {stream.rate_hz:.0f} of {stream.expected_hz:.0f} Hz {stream.fault}".rstrip())
    for fault in now.faults:
        print_line(f"  FAULT: {fault}")
