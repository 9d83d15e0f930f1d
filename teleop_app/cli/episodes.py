"""`teleop episodes`: list, show, verify and recover what was recorded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from recorder.episode import EpisodeInfo, Intervention
from recorder.findings import Finding
from teleop_app.cli.output import (
    EPISODE_COLUMNS,
    STREAM_COLUMNS,
    episode_facts,
    episode_row,
    print_json,
    print_line,
    print_table,
    stream_rows,
)

app = typer.Typer(no_args_is_help=True, help="Look after recorded episodes.")
CollectionPath = Annotated[Path, typer.Argument(help="A collection's folder.", show_default=False)]
AnyPath = Annotated[Path, typer.Argument(help="An episode, or a collection for all of its episodes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
WARNINGS_SHOWN = 3
FOUND_WANTING = 1
"""Exit code of verify when something is wrong with the data."""


@app.command("list")
def list_(collection: CollectionPath, *, as_json: AsJson = False) -> None:
    """List the episodes of a collection."""
    from recorder.collection import scan

    entries = scan(collection)
    if as_json:
        print_json([episode_facts(entry.info) for entry in entries if entry.info is not None])
    else:
        rows = [episode_row(entry.info) for entry in entries if entry.info is not None]
        print_table(str(collection), EPISODE_COLUMNS, rows)
    problems = [entry.problem for entry in entries if entry.info is None]
    for problem in problems:
        typer.echo(f"teleop: {problem}", err=True)
    if problems:
        raise typer.Exit(FOUND_WANTING)


@app.command()
def show(path: AnyPath, *, as_json: AsJson = False) -> None:
    """Show streams, rates, gaps, who commanded when, and interventions."""
    from recorder.collection import find
    from recorder.reader import open_episode

    infos = [open_episode(episode).info for episode in find(path)]
    if as_json:
        print_json([info.model_dump(mode="json") for info in infos])
        return
    for info in infos:
        print_table(f"Episode {info.index}", EPISODE_COLUMNS, [episode_row(info)])
        print_table("Streams", STREAM_COLUMNS, stream_rows(info))
        _show_control(info)


@app.command()
def verify(path: AnyPath, *, as_json: AsJson = False) -> None:
    """Check that everything recorded is there and sound; exit code 1 names what is not."""
    from recorder.collection import find
    from recorder.validate import verify as verify_episode

    findings = {episode: verify_episode(episode) for episode in find(path)}
    if as_json:
        print_json(
            [
                {"episode": episode.name, "findings": [asdict(finding) for finding in found]}
                for episode, found in findings.items()
            ]
        )
    else:
        for episode, found in findings.items():
            errors = sum(finding.severity == "error" for finding in found)
            verdict = "sound" if not errors else f"{errors} errors"
            print_line(f"{episode.name}: {verdict}")
            _print_findings(found)
    if any(finding.severity == "error" for found in findings.values() for finding in found):
        raise typer.Exit(FOUND_WANTING)


@app.command()
def recover(path: AnyPath, *, as_json: AsJson = False) -> None:
    """Repair episodes whose recording was interrupted."""
    from recorder.collection import find
    from recorder.recover import recover as recover_episode

    reports = [recover_episode(episode) for episode in find(path)]
    if as_json:
        print_json([{**episode_facts(r.info), "repaired": r.repaired, "lost": r.lost} for r in reports])
        return
    for report in reports:
        what = "recovered" if report.repaired else "nothing to do"
        print_line(f"{report.path.name}: {what}")
        for name, lost in report.lost.items():
            print_line(f"  {name}: {lost}")


def _print_findings(found: Sequence[Finding]) -> None:
    """All errors, and for each stream the first few warnings."""
    shown: Counter[str] = Counter()
    for finding in found:
        shown[finding.stream] += finding.severity == "warning"
        if finding.severity == "error" or shown[finding.stream] <= WARNINGS_SHOWN:
            print_line(f"  {finding.severity}: {finding.sentence}")
    for stream, count in shown.items():
        if count > WARNINGS_SHOWN:
            print_line(f"  stream {stream}: {count - WARNINGS_SHOWN} more warnings; --json gives them all")


def _show_control(info: EpisodeInfo) -> None:
    if info.segments:
        rows = [
            (
                segment.source.name.lower(),
                f"{(segment.start_ns - info.start_ns) / 1e9:.3f}",
                f"{(segment.end_ns - segment.start_ns) / 1e9:.3f}",
                segment.end_row - segment.start_row,
                segment.intervention if segment.intervention >= 0 else "",
            )
            for segment in info.segments
        ]
        print_table("Who commanded", ("source", "from s#", "for s#", "ticks#", "intervention#"), rows)
    if info.interventions:
        columns = ("#", "trigger", "reason", "asked at s#", "took ms#", "operator s#", "closed by", "outcome")
        print_table("Interventions", columns, [_intervention_row(one, info.start_ns) for one in info.interventions])


def _intervention_row(one: Intervention, start_ns: int) -> tuple[object, ...]:
    first_ns = one.operator_first_ns
    end_ns = one.release_ns or one.policy_on_ns
    return (
        one.index,
        one.trigger,
        one.reason,
        f"{(one.request_ns - start_ns) / 1e9:.3f}",
        f"{(one.policy_off_ns - one.request_ns) / 1e6:.1f}",
        f"{(end_ns - first_ns) / 1e9:.2f}" if first_ns is not None and end_ns is not None else "-",
        one.closed_by,
        one.outcome,
    )
