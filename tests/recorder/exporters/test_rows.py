from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recorder.errors import ExportError
from recorder.exporters.inputs import inputs_of
from recorder.exporters.row_options import RowOptions
from recorder.exporters.rows import EpisodeRows, episode_rows
from recorder.reader import open_episode
from recorder.segments import ControlSource
from recorder.streams import StreamRole

Record = Callable[..., Path]
START_NS = 1_000_000_000_000


def rows_of(path: Path, **options: object) -> EpisodeRows:
    return episode_rows(inputs_of(open_episode(path)), RowOptions(**options))


def test_a_camera_can_give_the_clock(record: Record):
    rows = rows_of(record(), clock="front")
    assert (rows.times == open_episode(rows.inputs.episode.path).streams["front"].time).all()
    assert (rows.picks["front"].age_s == 0).all()


def test_a_clock_that_is_no_camera_or_not_at_the_rate_is_refused(record: Record):
    path = record()
    with pytest.raises(ExportError, match="the clock side is not one of its cameras: front, wrist"):
        rows_of(path, clock="side")
    with pytest.raises(ExportError, match="do not lie at 25 a second"):
        rows_of(path, clock="front", fps=25)


def test_rows_begin_with_the_first_command_and_never_take_a_missing_one(record: Record):
    rows = rows_of(record(silent_s=0.3))
    assert rows.times[0] == START_NS + 300_000_000
    assert np.isfinite(rows.column(rows.inputs.action, 0, len(rows.times))).all()
    assert rows.facts["trimmed_s"][0] == pytest.approx(0.3)


def test_a_line_through_the_state_meets_the_true_time(record: Record):
    rows = rows_of(record(), state="linear")
    state = rows.column(rows.inputs.state, 0, len(rows.times))
    assert np.allclose(state[:, 0], (rows.times - START_NS) / 1e9, atol=1e-6) is False
    held = rows.picks["arm"].held
    assert np.allclose(state[~held, 0], (rows.times[~held] - START_NS) / 1e9, atol=1e-6)
    assert held.sum() <= 2, "only beside the two changes of control source"


def test_label_and_action_are_of_the_same_tick(record: Record):
    rows = rows_of(record(operator=(0.4350001, 0.7)))
    action = rows.column(rows.inputs.action, 0, len(rows.times))[:, 0]
    assert ((action > 900) == (rows.source == ControlSource.OPERATOR)).all()
    assert rows.intervention.any()


def test_what_an_episode_lacks_is_said(record: Record):
    with pytest.raises(ExportError, match="no state stream"):
        rows_of(record(roles_left_out=frozenset({StreamRole.STATE})))
    with pytest.raises(ExportError, match="no control stream with a field sent"):
        rows_of(record(roles_left_out=frozenset({StreamRole.CONTROL})))
    with pytest.raises(ExportError, match="stream control has no usable sample"):
        rows_of(record(silent_s=9.0))
