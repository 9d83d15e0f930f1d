"""Segments and interventions say exactly what the executed rows say."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recorder.derivation import REASON, RELEASE_REQUEST, TAKEOVER_REQUEST, ControlRows, derive
from recorder.episode import EpisodeInfo, Event, Intervention, Segment
from recorder.segments import CollectionMode, ControlSource, EpisodeState

PERIOD_NS = 100_000_000
P, O, H, X, S = (  # noqa: E741 -- one letter a source keeps the pictures below readable
    ControlSource.POLICY,
    ControlSource.OPERATOR,
    ControlSource.HANDOVER,
    ControlSource.HOLD,
    ControlSource.STOPPED,
)


def info(mode: CollectionMode = CollectionMode.INTERVENTION, events: tuple[Event, ...] = ()) -> EpisodeInfo:
    return EpisodeInfo(
        id="e", index=0, state=EpisodeState.COMPLETE, task="t", collection_mode=mode, start_ns=0, events=events
    )


def rows(sources: list[ControlSource]) -> ControlRows:
    count = len(sources)
    return ControlRows(np.arange(count, dtype=np.int64) * PERIOD_NS, np.array(sources, dtype=np.uint8))


def derived(
    sources: list[ControlSource],
    *events: Event,
    mode: CollectionMode = CollectionMode.INTERVENTION,
) -> tuple[tuple[Segment, ...], tuple[Intervention, ...]]:
    return derive(rows(sources), info(mode, events))


def at(kind: str, row: float, **detail: str) -> Event:
    return Event(time_ns=round(row * PERIOD_NS), kind=kind, detail=dict(detail))


def test_an_operator_from_1_05_to_2_05_s_at_10_hz_is_rows_11_to_20() -> None:
    sources = [P] * 11 + [O] * 10 + [P] * 10
    request, release = at(TAKEOVER_REQUEST, 10.5), at(RELEASE_REQUEST, 20.5)
    segments, interventions = derived(sources, request, release)
    assert [(s.source, s.start_row, s.end_row) for s in segments] == [(P, 0, 11), (O, 11, 21), (P, 21, 31)]
    (one,) = interventions
    assert (one.takeover_row, one.operator_start_row, one.operator_end_row) == (11, 11, 21)
    assert (one.request_ns, one.release_ns) == (request.time_ns, release.time_ns)
    assert one.closed_by == "release"


def test_the_times_of_an_intervention_are_in_order() -> None:
    sources = [P] * 5 + [H] * 3 + [O] * 6 + [H] * 2 + [P] * 4
    _, (one,) = derived(sources, at(TAKEOVER_REQUEST, 4.5, reason="stuck"), at(RELEASE_REQUEST, 13.5))
    assert one.operator_first_ns is not None
    assert one.release_ns is not None
    assert one.policy_on_ns is not None
    assert one.request_ns <= one.policy_off_ns <= one.operator_first_ns <= one.release_ns <= one.policy_on_ns
    assert (one.takeover_row, one.operator_start_row, one.operator_end_row) == (5, 8, 14)
    assert one.reason == "stuck"


def test_a_demonstration_has_no_interventions() -> None:
    segments, interventions = derived([X] * 3 + [O] * 9, mode=CollectionMode.TELEOP_DEMO)
    assert [segment.source for segment in segments] == [X, O]
    assert interventions == ()


def test_a_pause_is_not_an_intervention_but_a_cancelled_takeover_is_kept() -> None:
    assert derived([P] * 4 + [X] * 4 + [P] * 4)[1] == ()
    _, (cancelled,) = derived([P] * 4 + [H] * 4 + [P] * 4, at(TAKEOVER_REQUEST, 3.2))
    assert cancelled.outcome == "cancelled"
    assert cancelled.operator_first_ns is None
    assert cancelled.operator_start_row == cancelled.operator_end_row


def test_an_open_intervention_ends_with_the_episode() -> None:
    _, (one,) = derived([P] * 4 + [O] * 6, at(TAKEOVER_REQUEST, 3.5))
    assert (one.operator_end_row, one.policy_on_ns, one.closed_by) == (10, None, "episode_end")
    _, (stopped,) = derived([P] * 4 + [O] * 3 + [S] * 3, at(TAKEOVER_REQUEST, 3.5))
    assert stopped.closed_by == "safety_stop"


def test_each_intervention_has_its_own_reason() -> None:
    sources = [P] * 4 + [O] * 4 + [P] * 4 + [O] * 4 + [P] * 4
    events = (
        at(TAKEOVER_REQUEST, 3.5),
        at(RELEASE_REQUEST, 7.5),
        at(REASON, 9, reason="stuck"),
        at(TAKEOVER_REQUEST, 11.5),
        at(RELEASE_REQUEST, 15.5),
        at(REASON, 13, reason="unsafe"),
    )
    _, interventions = derived(sources, *events)
    assert [one.reason for one in interventions] == ["stuck", "unsafe"]


@given(st.lists(st.sampled_from([P, O, H, X, S]), max_size=60))
def test_segments_tile_the_rows_and_interventions_own_every_operator_row(sources: list[ControlSource]) -> None:
    segments, interventions = derived(sources)
    assert [row for s in segments for row in range(s.start_row, s.end_row)] == list(range(len(sources)))
    assert all(a.source != b.source for a, b in itertools.pairwise(segments))
    for row, source in enumerate(sources):
        owners = [i for i in interventions if i.operator_start_row <= row < i.operator_end_row]
        assert len(owners) <= 1
        if source is O:
            assert len(owners) == 1
    for before, after in itertools.pairwise(interventions):
        assert before.operator_end_row <= after.takeover_row
    assert derived(sources) == (segments, interventions)
