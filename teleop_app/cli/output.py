"""How commands show facts: a table for people, JSON for programs."""

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from recorder.episode import EpisodeInfo
from teleop_app.cli.choosing import faults

PLAIN_WIDTH = 120


def print_json(value: Any) -> None:
    """Write JSON to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def print_line(text: str) -> None:
    """Write one line to standard output."""
    sys.stdout.write(text + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Draw a table; columns whose name ends in a number sign are right-aligned."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column.rstrip("#"), justify="right" if column.endswith("#") else "left")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console(file=sys.stdout, width=line_width()).print(table)


def line_width() -> int:
    """Characters of a line: the terminal's, or PLAIN_WIDTH where the output is no terminal."""
    return shutil.get_terminal_size((PLAIN_WIDTH, 0)).columns if sys.stdout.isatty() else PLAIN_WIDTH


def episode_facts(info: EpisodeInfo) -> dict[str, Any]:
    """One episode as `teleop episodes list --json` gives it."""
    return {
        "id": info.id,
        "index": info.index,
        "state": info.state.value,
        "task": info.task,
        "outcome": info.outcome.value,
        "collection_mode": info.collection_mode.value,
        "operator": info.operator,
        "started_utc": info.started_utc.isoformat() if info.started_utc is not None else None,
        "duration_s": info.duration_s,
        "recorded_s": info.recorded_s,
        "faults": faults(info),
        "notes": info.notes,
        "tags": list(info.tags),
        "failure_entry": info.failure_entry,
        "interventions": [intervention.model_dump(mode="json") for intervention in info.interventions],
        "streams": {
            name: {
                "samples": summary.samples,
                "rate_hz": summary.rate_hz,
                "gaps": summary.gaps,
                "drops": summary.drops,
            }
            for name, summary in info.streams.items()
        },
    }


EPISODE_COLUMNS = ("#", "id", "state", "outcome", "mode", "seconds#", "takeovers#", "faults#", "task")


def episode_row(info: EpisodeInfo) -> tuple[object, ...]:
    """One episode as a row under EPISODE_COLUMNS; of a trimmed one the seconds are "kept of recorded"."""
    recorded = "" if info.kept_ns is None else f" of {info.recorded_s:.1f}"
    return (
        info.index,
        info.id,
        info.state.value,
        info.outcome.value,
        info.collection_mode.value,
        f"{info.duration_s:.1f}{recorded}",
        len(info.interventions),
        faults(info),
        " ".join((info.task, *(f"#{tag}" for tag in info.tags))),
    )


STREAM_COLUMNS = ("stream", "samples#", "rate Hz#", "expected#", "gaps#", "longest gap s#", "drops#", "MB#", "lost")


def stream_rows(info: EpisodeInfo) -> list[tuple[object, ...]]:
    """The streams of an episode as rows under STREAM_COLUMNS."""
    expected = {spec.name: spec.rate_hz for spec in info.stream_specs}
    return [
        (
            name,
            summary.samples,
            f"{summary.rate_hz:.2f}" if summary.rate_hz is not None else "-",
            f"{expected[name]:.0f}" if name in expected else "-",
            summary.gaps,
            f"{summary.longest_gap_s:.3f}",
            summary.drops,
            f"{summary.bytes / 1e6:.1f}",
            summary.lost,
        )
        for name, summary in info.streams.items()
    ]
