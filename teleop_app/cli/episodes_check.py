"""`teleop episodes verify` and `recover`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import typer

from recorder.findings import Finding
from teleop_app.cli.episodes_options import FOUND_WANTING, AnyPath, AsJson
from teleop_app.cli.output import episode_facts, print_json, print_line

WARNINGS_SHOWN = 3


def verify(path: AnyPath, *, as_json: AsJson = False) -> None:
    """Check that everything recorded is there and sound. Exit code 1 where it is not: array and rows are named."""
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
