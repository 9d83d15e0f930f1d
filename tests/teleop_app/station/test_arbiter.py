"""The table of who commands: what must always be possible, and what must never be."""

import pytest

from recorder.segments import ControlSource
from teleop_app.station.arbiter import ACTIVE_TABLE, ADVICE, SOURCES, Arbiter, Edge, Phase


def test_a_takeover_goes_through_freeze_to_the_operator_and_back_to_the_policy() -> None:
    arbiter = Arbiter()
    path = [
        (Edge.START_POLICY, Phase.RESUME),
        (Edge.RESUMED, Phase.POLICY),
        (Edge.TAKEOVER, Phase.FREEZE),
        (Edge.FROZEN, Phase.ALIGN),
        (Edge.ALIGNED, Phase.READY),
        (Edge.ENGAGE, Phase.ENGAGE),
        (Edge.ENGAGED, Phase.OPERATOR),
        (Edge.RELEASE, Phase.SETTLE),
        (Edge.SETTLED, Phase.RESUME),
        (Edge.RESUMED, Phase.POLICY),
    ]
    for edge, phase in path:
        assert arbiter.fire(edge, 1)
        assert arbiter.phase is phase


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.STOPPED])
def test_stop_is_possible_from_everywhere_and_only_a_rearm_leaves_it(phase: Phase) -> None:
    arbiter = Arbiter()
    arbiter.phase = phase
    assert arbiter.fire(Edge.STOP, 1)
    assert arbiter.source is ControlSource.STOPPED
    leaving = [edge for edge in Edge if (Phase.STOPPED, edge) in ACTIVE_TABLE]
    assert leaving == [Edge.REARM]


def test_only_people_move_an_arm_that_holds() -> None:
    from_hold = {edge for phase, edge in ACTIVE_TABLE if phase is Phase.HOLD}
    assert from_hold == {Edge.TAKEOVER, Edge.START_POLICY, Edge.STOP}


@pytest.mark.parametrize("phase", [Phase.FREEZE, Phase.ALIGN, Phase.READY, Phase.ENGAGE])
def test_a_takeover_can_be_given_up_at_any_time(phase: Phase) -> None:
    assert ACTIVE_TABLE[phase, Edge.RELEASE] is Phase.SETTLE


def test_a_passive_station_only_tags() -> None:
    arbiter = Arbiter(passive=True)
    assert arbiter.source is ControlSource.POLICY
    assert not arbiter.fire(Edge.STOP, 1)
    assert arbiter.fire(Edge.TAKEOVER, 1)
    assert arbiter.source is ControlSource.OPERATOR
    assert arbiter.fire(Edge.RELEASE, 2)
    assert arbiter.source is ControlSource.POLICY


def test_every_phase_has_a_source_and_advice() -> None:
    assert set(SOURCES) == set(ADVICE) == set(Phase)
