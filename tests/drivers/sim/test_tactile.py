import threading

import numpy as np
import pytest

from drivers import clock
from drivers.configs import SimArmConfig, SimTactileConfig
from drivers.errors import DeviceConfigError, DriverError
from drivers.samples import JointCommand, StampSource
from drivers.sim import workcell as w
from drivers.sim.arm import SimArm
from drivers.sim.pick_and_place import Phase, PickAndPlace
from drivers.sim.tactile import SimTactile


@pytest.fixture
def pad(arm, world):
    pad = SimTactile(SimTactileConfig(name="pad", pad="moving_finger"), world[0])
    pad.connect()
    yield pad
    pad.disconnect()


def read_for(pad, seconds):
    samples, deadline_ns = [], clock.now_ns() + round(seconds * 1e9)
    while clock.now_ns() < deadline_ns:
        sample = pad.read(0.1)
        if sample is not None:
            samples.append(sample)
    return samples


def test_samples_come_at_the_pads_rate_with_the_worlds_stamps(arm, pad):
    missed_s = arm.missed_time_s()
    samples = read_for(pad, 1.0)
    assert len(samples) + 100 * (arm.missed_time_s() - missed_s) == pytest.approx(100, rel=0.1)
    assert (np.diff([sample.stamp_ns for sample in samples]) > 0).all()
    sample = samples[0]
    assert sample.force.shape == (w.TOUCH_ROWS, w.TOUCH_COLUMNS, w.TOUCH_AXES)
    assert sample.force.dtype == np.float32
    assert not sample.force.flags.writeable
    assert sample.stamp_source is StampSource.DEVICE
    assert not sample.force.any(), "nothing is touched"
    assert pad.dropped() == 0


@pytest.mark.slow
def test_the_pad_feels_the_block_while_it_is_carried(arm, pad):
    arm.reset_scene(0)
    script, forces, stop = PickAndPlace(), [], threading.Event()

    def watch():
        while not stop.is_set():
            sample = pad.read(0.1)
            if sample is not None and script.phase is Phase.CARRY:
                forces.append(sample.force[..., 0].sum())

    thread = threading.Thread(target=watch)
    thread.start()
    deadline_ns = clock.now_ns() + 25_000_000_000
    while script.phase is not Phase.RELEASE and clock.now_ns() < deadline_ns:
        state = arm.read(0.5)
        target = script.target(state.stamp_ns, state.position, arm.object_positions())
        arm.command(JointCommand(state.stamp_ns, target))
    stop.set()
    thread.join()
    assert script.phase is Phase.RELEASE
    assert np.median(forces) == pytest.approx(6.5, rel=0.4)


@pytest.mark.slow
def test_a_pad_that_nobody_reads_counts_what_it_lost(run_id):
    arm = SimArm(SimArmConfig(name="follower", rate_hz=500), run_id)
    pad = SimTactile(SimTactileConfig(name="pad"), run_id)
    arm.connect()
    try:
        pad.connect()
        first = pad.read(0.5)
        while arm._states.newest < 800:
            clock.sleep_until_ns(clock.now_ns() + 10_000_000)
        second = pad.read(0.5)
        periods = (second.stamp_ns - first.stamp_ns) / 10e6
        assert pad.dropped() == pytest.approx(periods, abs=3)
    finally:
        pad.disconnect()
        arm.disconnect()


def test_a_pad_faster_than_its_world_is_refused(world):
    pad = SimTactile(SimTactileConfig(name="pad", rate_hz=300), world[0])
    with pytest.raises(DeviceConfigError, match="pad: rate_hz is 300, but the simulated world runs at 200 Hz"):
        pad.connect()


def test_the_end_of_the_world_is_said(own_arm, run_id):
    pad = SimTactile(SimTactileConfig(name="pad"), run_id)
    pad.connect()
    own_arm.disconnect()
    with pytest.raises(DriverError, match="pad: the simulated world has ended"):
        read_for(pad, 4.0)
    pad.disconnect()
    pad.disconnect()
    with pytest.raises(DriverError, match="pad: not connected"):
        pad.read(0.05)
