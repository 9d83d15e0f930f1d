import numpy as np
import pytest

from drivers import clock
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot, SlotValue
from drivers.sim import world_state as ws


def snapshot():
    joints = np.arange(6.0)
    return ws.Snapshot(joints, joints + 10, joints + 20, np.arange(13.0) + 30, np.arange(96.0).reshape(2, 3, 4, 4))


def test_a_state_survives_the_journey():
    payload = ws.pack(snapshot(), 0.25, 0.005)
    assert len(payload) == ws.STATE_BYTES
    state = ws.unpack(SlotValue(7, 99, 3, payload))
    assert (state.sequence, state.stamp_ns, state.resets) == (7, 99, 3)
    assert (state.missed_s, state.period_s) == (0.25, 0.005)
    for field in ("position", "velocity", "effort", "scene", "touch"):
        assert np.array_equal(getattr(state.snapshot, field), getattr(snapshot(), field)), field
    assert state.snapshot.objects()["block"].tolist() == [36.0, 37.0, 38.0]


def test_no_world_is_said_after_the_limit(run_id):
    began_ns = clock.now_ns()
    with pytest.raises(DriverError, match="front: no simulated world after 0 s; connect the sim_arm"):
        ws.attach_to_world("front", run_id, limit_s=0.1)
    assert clock.now_ns() - began_ns >= 100_000_000


def test_what_a_dead_world_left_is_not_taken_for_a_world(run_id):
    slot = LatestSlot.create(ws.state_slot(run_id), ws.STATE_BYTES, ws.HISTORY)
    slot.write(1, ws.pack(snapshot(), 0.0, 0.005))
    attached = ws.attach_to_world("front", run_id, limit_s=0.1)
    slot.close()
    with pytest.raises(DriverError, match="the simulated world has ended"):
        ws.require_world("front", attached)
    attached.close()
    with pytest.raises(DriverError, match="no simulated world"):
        ws.attach_to_world("front", run_id, limit_s=0.1)
    ws.remove_slots(run_id)
