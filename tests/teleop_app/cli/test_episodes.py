"""`teleop episodes`, as people and programs use it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from recorder.errors import RecorderError
from recorder.reader import open_episode
from teleop_app.cli import app
from tests.recorder.samples import record

ROWS = {"arm": 300, "pad": 6, "camera": 45}


def run(*arguments: object, exit_code: int = 0) -> str:
    result = CliRunner().invoke(app, ["episodes", *map(str, arguments)])
    assert result.exit_code == exit_code, result.output
    return result.stdout


def facts(*arguments: object, exit_code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", exit_code=exit_code))


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    for _ in range(3):
        record(tmp_path / "collection", ROWS)
    return tmp_path / "collection"


def episodes(collection: Path) -> list[Path]:
    return sorted(collection.glob("*.zarr"))


def test_a_list_can_be_narrowed(collection: Path) -> None:
    first = episodes(collection)[0]
    run("label", first, "--outcome", "success", "--tag", "golden", "--author", "ada")
    assert [row["index"] for row in facts("list", collection)] == [0, 1, 2]
    assert [row["index"] for row in facts("list", collection, "--outcome", "success")] == [0]
    assert [row["index"] for row in facts("list", collection, "--tag", "golden")] == [0]
    assert facts("list", collection, "--task", "nothing like it") == []
    assert "success" in run("list", collection)


def test_a_label_keeps_what_was_said_before_and_by_whom(collection: Path) -> None:
    first = episodes(collection)[0]
    run("label", first, "--outcome", "success", "--author", "ada")
    run("label", first, "--outcome", "failure", "--note", "it slipped", "--author", "bob")
    info = open_episode(first).info
    assert (info.outcome.value, info.notes) == ("failure", "it slipped")
    assert [(label.author, label.old, label.new) for label in info.labels][:2] == [
        ("ada", "unset", "success"),
        ("bob", "success", "failure"),
    ]
    shown = run("show", first)
    assert "ada" in shown
    assert "it slipped" in shown


def test_a_trim_is_undone(collection: Path) -> None:
    first = episodes(collection)[0]
    whole = facts("list", collection)[0]
    run("trim", first, "--start", 0.2, "--stop", 1.0)
    assert open_episode(first).info.kept_ns is not None
    run("trim", first, "--undo")
    assert facts("list", collection)[0]["duration_s"] == whole["duration_s"]
    assert open_episode(first).info.kept_ns is None


def test_discard_and_restore(collection: Path) -> None:
    second = episodes(collection)[1]
    run("discard", second)
    assert [row["index"] for row in facts("list", collection)] == [0, 2]
    run("restore", second)
    assert [row["index"] for row in facts("list", collection)] == [0, 1, 2]


def test_merge_keeps_ids_and_goes_on_counting(collection: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    record(other, ROWS)
    run("merge", collection, other, tmp_path / "all")
    merged = facts("list", tmp_path / "all")
    assert [row["index"] for row in merged] == [0, 1, 2, 3]
    ids = [row["id"] for row in facts("list", collection)] + [row["id"] for row in facts("list", other)]
    assert [row["id"] for row in merged] == ids
    assert run("verify", tmp_path / "all").count("sound") == 4


def test_du_counts_bytes(collection: Path) -> None:
    assert facts("du", collection)
    assert "camera" in run("du", episodes(collection)[0])


def test_show_draws_a_timeline(collection: Path) -> None:
    shown = run("show", episodes(collection)[0])
    assert "Streams" in shown
    assert "arm" in shown


def test_verify_names_what_is_lost_and_exits_with_one(collection: Path) -> None:
    first = episodes(collection)[0]
    next((first / "arm" / "position").rglob("c/0/0")).unlink()
    found = run("verify", collection, exit_code=1)
    assert "stream arm, array position" in found
    (broken, *sound) = facts("verify", collection, exit_code=1)
    assert any(finding["severity"] == "error" and finding["array"] == "position" for finding in broken["findings"])
    assert len(sound) == 2


def test_recover_of_a_sound_episode_does_nothing(collection: Path) -> None:
    assert [row["repaired"] for row in facts("recover", collection)] == [False, False, False]


def test_what_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    for verb in ("list", "show", "verify", "recover", "du"):
        result = CliRunner().invoke(app, ["episodes", verb, str(tmp_path / "nowhere")])
        assert isinstance(result.exception, RecorderError)
