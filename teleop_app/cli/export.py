"""`teleop export`: from episodes to a training format."""

from pathlib import Path
from typing import Annotated

import typer

from recorder.segments import Outcome
from teleop_app.cli.extras import extra
from teleop_app.cli.output import print_json, print_line

app = typer.Typer(no_args_is_help=True, help="Export episodes for training.")


@app.command()
def lerobot(
    source: Annotated[Path, typer.Argument(help="A collection, or one episode.", show_default=False)],
    out: Annotated[Path, typer.Argument(help="Folder to make.", show_default=False)],
    *,
    fps: Annotated[int, typer.Option(help="Rows a second.")] = 30,
    workers: Annotated[int, typer.Option(help="Processes; 0 for one a core.")] = 0,
    outcome: Annotated[list[Outcome] | None, typer.Option(help="Only episodes with this outcome; repeatable.")] = None,
    strict: Annotated[bool, typer.Option(help="Refuse if an episode would be left out.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier export.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Export to LeRobot v3.0, resampled by true time, H.264 video, exact statistics."""
    with extra("export", "an export to LeRobot"):
        from recorder.exporters.lerobot import export_lerobot
        from recorder.exporters.lerobot_options import LerobotOptions

    options = LerobotOptions(outcomes=tuple(outcome or ()), strict=strict, overwrite=overwrite)
    report = export_lerobot(source, out, fps=fps, workers=workers, options=options)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    print_line(
        f"{report.out}: {report.episodes} episodes, {report.rows} rows, {report.frames} video frames, "
        f"{report.bytes / 1e6:.1f} MB in {report.seconds:.1f} s with {report.workers} workers"
    )
    for left in report.left_out:
        print_line(f"  left out: {left.reason}")
    for note in report.notes:
        print_line(f"  note: {note}")
