"""How commands show facts: a table for people, JSON for programs."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from recorder.episode import EpisodeInfo


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
    width = None if sys.stdout.isatty() else 120
    Console(file=sys.stdout, width=width).print(table)


def episode_facts(info: EpisodeInfo) -> dict[str, Any]:
    """One episode as `teleop episodes list --json` gives it."""
    return {
        "id": info.id,
        "index": info.index,
        "state": info.state.value,
        "task": info.task,
        "outcome": info.outcome.value,
        "collection_mode": info.collection_mode.value,
        "duration_s": info.duration_s,
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
    """One episode as a row under EPISODE_COLUMNS."""
    faults = sum(event.kind == "fault" for event in info.events)
    return (
        info.index,
        info.id,
        info.state.value,
        info.outcome.value,
        info.collection_mode.value,
        f"{info.duration_s:.1f}",
        len(info.interventions),
        faults,
        info.task,
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
