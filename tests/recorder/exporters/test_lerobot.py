import json
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pyarrow.parquet as pq
import pytest

from recorder.errors import EpisodeNotFoundError, ExportError
from recorder.exporters.lerobot import LerobotOptions, export_lerobot
from recorder.segments import CollectionMode, ControlSource, Outcome
from recorder.streams import StreamRole

Record = Callable[..., Path]


def rows_of(out: Path, episode: int = 0) -> dict[str, np.ndarray]:
    table = pq.read_table(out / f"data/chunk-000/file-{episode:03d}.parquet")
    return {name: np.array(table[name].to_pylist()) for name in table.column_names}


def episodes_of(out: Path) -> list[dict]:
    return pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()


def load(out: Path, name: str) -> dict:
    return json.loads((out / "meta" / name).read_text())


def frames_of(out: Path, camera: str, episode: int = 0) -> list[np.ndarray]:
    with av.open(str(out / f"videos/observation.images.{camera}/chunk-000/file-{episode:03d}.mp4")) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "lerobot"


def test_an_intervention_episode_comes_out_with_its_own_values(record: Record, collection: Path, out: Path):
    record()
    report = export_lerobot(collection, out, fps=30, workers=1)
    assert (report.episodes, report.rows, report.frames, report.left_out) == (1, 31, 62, ())
    rows = rows_of(out)
    truth = np.arange(31) / 30
    state = rows["observation.state"]
    assert np.abs(state[:, 0] - truth).max() <= 0.005
    assert np.allclose(state * 100, np.round(state * 100), atol=1e-3), "states are samples as recorded, not made up"
    assert np.flatnonzero(rows["intervention"]).tolist() == list(range(14, 21))
    assert rows["control_source"].tolist() == [1] * 14 + [2] * 7 + [1] * 10
    expected = np.floor(truth * 200 + 1e-6) / 200 + np.where(rows["intervention"], 1000.0, 0.5)
    assert np.abs(rows["action"][:, 0] - expected).max() < 1e-3
    assert rows["timestamp"].tolist() == (np.arange(31) / 30).astype(np.float32).tolist()
    assert rows["index"].tolist() == rows["frame_index"].tolist() == list(range(31))
    assert rows["observation.tactile.pad"].shape == (31, 6)
    info = load(out, "info.json")
    assert info["features"]["observation.state"]["names"] == ["pan", "lift", "grip"]
    assert info["features"]["control_source"]["info"]["codes"]["operator"] == ControlSource.OPERATOR
    assert info["robot_type"] == "bench"


def test_segments_and_interventions_are_told_in_frames_of_the_output(record: Record, collection: Path, out: Path):
    record()
    export_lerobot(collection, out, workers=1)
    told = json.loads(episodes_of(out)[0]["intervention/segments"])
    assert told["segments"] == [
        {"source": "policy", "start_frame": 0, "end_frame": 14},
        {"source": "operator", "start_frame": 14, "end_frame": 21},
        {"source": "policy", "start_frame": 21, "end_frame": 31},
    ]
    (intervention,) = told["interventions"]
    assert (intervention["start_frame"], intervention["end_frame"]) == (14, 21)
    assert intervention["policy_id"] == "act"
    assert told["outcome"] == "success"


def test_an_operator_from_1_05_to_2_05_is_rows_11_to_20_at_10_hz(record: Record, collection: Path, out: Path):
    record(duration_s=3.0, operator=(1.05, 2.05), cameras=("front",))
    export_lerobot(collection, out, fps=10, workers=1)
    assert np.flatnonzero(rows_of(out)["intervention"]).tolist() == list(range(11, 21))
    told = json.loads(episodes_of(out)[0]["intervention/segments"])
    assert told["segments"][1] == {"source": "operator", "start_frame": 11, "end_frame": 21}
    assert [(each["start_frame"], each["end_frame"]) for each in told["interventions"]] == [(11, 21)]


def test_a_demonstration_has_no_interventions(record: Record, collection: Path, out: Path):
    record(mode=CollectionMode.TELEOP_DEMO)
    export_lerobot(collection, out, workers=1)
    rows = rows_of(out)
    assert not rows["intervention"].any()
    assert set(rows["control_source"]) == {ControlSource.OPERATOR}


def test_a_passive_episode_takes_the_foreign_command_and_keeps_the_tag(record: Record, collection: Path, out: Path):
    record(mode=CollectionMode.PASSIVE)
    export_lerobot(collection, out, workers=1)
    rows = rows_of(out)
    assert np.allclose(rows["action"] - rows["observation.state"], 0.25, atol=1e-5)
    assert np.flatnonzero(rows["intervention"]).tolist() == list(range(14, 21))


def test_statistics_are_exact_over_the_union(record: Record, collection: Path, out: Path):
    record(colour=(0, 0, 0), duration_s=0.5)
    record(colour=(255, 255, 255), duration_s=0.8, state_offset=1000.0)
    export_lerobot(collection, out, workers=1)
    stats = load(out, "stats.json")
    both = np.concatenate([rows_of(out, episode)["observation.state"] for episode in (0, 1)])
    assert stats["observation.state"]["q01"] == np.quantile(both.astype(np.float64), 0.01, axis=0).tolist()
    assert stats["observation.state"]["q99"] == np.quantile(both.astype(np.float64), 0.99, axis=0).tolist()
    image = stats["observation.images.front"]
    share = 25 / 41
    assert np.array(image["mean"]).shape == (3, 1, 1)
    assert np.allclose(image["mean"], share)
    assert np.allclose(image["std"], np.sqrt(share * (1 - share)))
    assert image["count"] == [41]
    of_first = episodes_of(out)[0]
    assert of_first["stats/observation.images.front/max"] == [[[0.0]]] * 3
    assert of_first["stats/action/count"] == [16]


def test_red_stays_red(record: Record, collection: Path, out: Path):
    record(colour=(255, 0, 0), duration_s=0.5)
    export_lerobot(collection, out, workers=1)
    red, green, blue = frames_of(out, "front")[3].mean((0, 1))
    assert red > 245
    assert max(green, blue) < 12
    assert load(out, "stats.json")["observation.images.front"]["mean"][0] > [[0.95]]


def test_a_slow_camera_is_exported_over_its_true_time(record: Record, collection: Path, out: Path):
    record(camera_hz=24.0, duration_s=299 / 24, cameras=("front",), tactile=(), size=(32, 32))
    report = export_lerobot(collection, out, fps=30, workers=1)
    assert report.rows == report.frames == 374
    (source,) = load(out, "teleop_export.json")["sources"]
    assert source["streams"]["front"]["held_rows"] == 75
    assert source["streams"]["front"]["age_s"]["max"] <= 0.5 / 24 + 1e-6


def test_every_video_frame_is_the_frame_of_its_row(record: Record, collection: Path, out: Path):
    record(duration_s=1.0, size=(48, 64), cameras=("front",))
    export_lerobot(collection, out, workers=1)
    frames = frames_of(out, "front")
    assert [int(frame[..., 0].mean(0).argmax()) for frame in frames] == pytest.approx(list(range(31)), abs=1)


def test_a_frame_with_an_odd_side_keeps_its_size(record: Record, collection: Path, out: Path):
    record(size=(47, 61), cameras=("front",), duration_s=0.5)
    export_lerobot(collection, out, workers=1)
    assert frames_of(out, "front")[0].shape == (47, 61, 3)


def test_several_episodes_and_tasks_are_numbered_through(record: Record, collection: Path, out: Path):
    record(task="a")
    record(task="b", duration_s=0.5)
    record(task="a", duration_s=0.6)
    export_lerobot(collection, out, workers=1)
    rows = [rows_of(out, episode) for episode in range(3)]
    assert np.concatenate([each["index"] for each in rows]).tolist() == list(range(31 + 16 + 19))
    assert [each["task_index"][0] for each in rows] == [0, 1, 0]
    spans = [(row["dataset_from_index"], row["dataset_to_index"], row["length"]) for row in episodes_of(out)]
    assert spans == [(0, 31, 31), (31, 47, 16), (47, 66, 19)]
    tasks = pq.read_table(out / "meta/tasks.parquet")
    assert tasks["task"].to_pylist() == ["a", "b"]
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]


@pytest.mark.slow
def test_the_same_episodes_give_the_same_bytes_with_any_number_of_workers(
    record: Record, collection: Path, tmp_path: Path
):
    record()
    record(duration_s=0.7, task="other")
    outs = [tmp_path / "one", tmp_path / "two"]
    for workers, each in enumerate(outs, start=1):
        assert export_lerobot(collection, each, workers=workers).workers == workers
    names = [sorted(str(path.relative_to(each)) for path in each.rglob("*")) for each in outs]
    assert names[0] == names[1]
    for path in (path for path in outs[0].rglob("*") if path.is_file()):
        assert path.read_bytes() == (outs[1] / path.relative_to(outs[0])).read_bytes(), path
    manifest = (outs[0] / "meta/teleop_export.json").read_text()
    assert str(tmp_path) not in manifest


def test_an_episode_that_differs_is_left_out_with_a_sentence(record: Record, collection: Path, out: Path):
    record()
    record(cameras=("front",))
    record()
    record(joints=("pan", "lift"))
    record(roles_left_out=frozenset({StreamRole.STATE}))
    record(finish=False)
    record(task=" ")
    report = export_lerobot(collection, out, workers=1)
    assert report.episodes == 2
    reasons = " | ".join(left.reason for left in report.left_out)
    assert "its cameras are front 64x48, those of the others front 64x48, wrist 64x48" in reasons
    assert "its state is pan, lift, that of the others pan, lift, grip" in reasons
    assert "no state stream" in reasons
    assert "its state is interrupted: recover it first" in reasons
    assert "no task text" in reasons
    assert len(load(out, "teleop_export.json")["left_out"]) == 5


def test_an_episode_that_lost_a_chunk_is_left_out_and_the_others_go_on(record: Record, collection: Path, out: Path):
    record(duration_s=0.5)
    damaged = record(duration_s=0.5)
    (damaged / "arm" / "position" / "c" / "0" / "0").unlink()
    report = export_lerobot(collection, out, workers=1)
    assert report.episodes == 1
    (left,) = report.left_out
    assert left.episode in damaged.name
    assert "does not verify: stream arm, array position" in left.reason


def test_strict_refuses_instead(record: Record, collection: Path, out: Path):
    record()
    record(cameras=("front", "side"))
    with pytest.raises(ExportError, match=r"strict and 1 episodes cannot go in: .*its cameras are front 64x48, side"):
        export_lerobot(collection, out, workers=1, options=LerobotOptions(strict=True))
    assert [path.name for path in out.parent.iterdir()] == ["collection"]


def test_a_gap_keeps_the_episode_out_or_splits_it(record: Record, collection: Path, out: Path):
    record(duration_s=3.0, camera_gap=(1.0, 2.0), cameras=("front",))
    with pytest.raises(ExportError, match=r"stream front has a gap at rows 33 to 57: .* 0\.067 s is allowed"):
        export_lerobot(collection, out, workers=1)
    report = export_lerobot(collection, out, workers=1, options=LerobotOptions(gaps="split"))
    assert report.episodes == 2
    told = [json.loads(row["intervention/segments"])["source_rows"] for row in episodes_of(out)]
    assert told == [[0, 33], [58, 91]]
    assert rows_of(out, 1)["timestamp"][0] == 0.0
    assert rows_of(out, 1)["observation.state"][0, 0] == pytest.approx(58 / 30, abs=0.006)


def test_a_camera_that_died_is_a_gap_at_the_end(record: Record, collection: Path, out: Path):
    record(duration_s=3.0, camera_gap=(1.0, 4.0), cameras=("front",))
    with pytest.raises(ExportError, match=r"stream front has no sample in 2\.00\d s at the end"):
        export_lerobot(collection, out, workers=1)


def test_tactile_that_not_every_episode_has_is_left_out_and_said(record: Record, collection: Path, out: Path):
    record(tactile=("pad", "palm"), duration_s=0.5)
    record(tactile=("pad",), duration_s=0.5)
    report = export_lerobot(collection, out, workers=1)
    assert [key for key in load(out, "info.json")["features"] if "tactile" in key] == ["observation.tactile.pad"]
    assert report.notes == ("tactile stream palm is not in every episode with one shape and was left out",)


def test_episodes_are_chosen_by_identity_and_outcome(record: Record, collection: Path, out: Path):
    record(outcome=Outcome.FAILURE, duration_s=0.5)
    good = record(duration_s=0.5)
    identity = good.stem.split("-", 1)[1]
    assert export_lerobot(collection, out, workers=1, options=LerobotOptions(outcomes=("success",))).episodes == 1
    (source,) = load(out, "teleop_export.json")["sources"]
    assert source["episode_id"] == identity
    options = LerobotOptions(episodes=(identity,), overwrite=True)
    assert export_lerobot(collection, out, workers=1, options=options).episodes == 1
    with pytest.raises(ExportError, match="there is no episode nobody here"):
        export_lerobot(collection, out.parent / "x", workers=1, options=LerobotOptions(episodes=("nobody",)))


def test_what_cannot_be_is_refused_in_one_sentence(record: Record, collection: Path, out: Path):
    with pytest.raises(EpisodeNotFoundError):
        export_lerobot(collection, out)
    collection.mkdir()
    with pytest.raises(ExportError, match="there is no episode to export"):
        export_lerobot(collection, out)
    record(duration_s=0.5)
    with pytest.raises(ExportError, match="fps must be a whole number from 1 to 1000, not 0"):
        export_lerobot(collection, out, fps=0)
    with pytest.raises(ExportError, match="workers must be 0"):
        export_lerobot(collection, out, workers=-1)
    assert [path.name for path in out.parent.iterdir()] == ["collection"]


def test_an_existing_folder_is_replaced_only_if_it_is_ours_and_asked_for(record: Record, collection: Path, out: Path):
    record(duration_s=0.5)
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    with pytest.raises(ExportError, match="is not an export of this application"):
        export_lerobot(collection, out, workers=1, options=LerobotOptions(overwrite=True))
    (out / "thesis.tex").unlink()
    export_lerobot(collection, out, workers=1)
    with pytest.raises(ExportError, match="say overwrite to replace it"):
        export_lerobot(collection, out, workers=1)
    record(duration_s=0.5)
    assert export_lerobot(collection, out, workers=1, options=LerobotOptions(overwrite=True)).episodes == 2
    assert sorted(path.name for path in out.parent.iterdir()) == ["collection", "lerobot"]
