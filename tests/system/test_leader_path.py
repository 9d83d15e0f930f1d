"""A takeover with an emulated SO-101 leader: the follower freezes, waits for the hand, and never jumps."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from drivers.emulators.feetech import FeetechEmulator
from drivers.emulators.pty import PtyServer
from recorder.collection import find
from recorder.reader import open_episode
from recorder.segments import ControlSource
from recorder.streams import StreamRole
from teleop_app.station.client import StationClient
from teleop_app.station.messages import Verb
from tests.system.commands import CONFIG, ROOT, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.gl, pytest.mark.timeout(150)]


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[FeetechEmulator]:
    """An emulated leader arm that the test moves."""
    emulator = FeetechEmulator(range(1, 7))
    server = PtyServer(emulator, link=tmp_path / "leader")
    server.start()
    yield emulator
    server.stop()


@pytest.fixture
def client(hand: FeetechEmulator, tmp_path: Path) -> Iterator[StationClient]:
    station_file = tmp_path / "station.yaml"
    station_file.write_text(
        f"extends: {CONFIG / 'sim_leader.yaml'}\ndevices:\n  - {{name: leader, port: {tmp_path / 'leader'}}}\n"
        "policy: {fail_every: 0}\n"
    )
    command = [sys.executable, "-m", "teleop_app", "station", str(station_file), "--port", "0"]
    process = subprocess.Popen(
        [*command, "--collection", str(tmp_path / "collection")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert " at " in line, "the station did not start"
    with StationClient(line.split(" at ")[-1].strip(), "test") as client:
        yield client
        client.ask(Verb.SHUTDOWN)
    assert process.wait(30) == 0
    process.stdout.close()


def test_a_leader_takes_over_only_when_the_hand_is_where_the_arm_is(
    hand: FeetechEmulator, client: StationClient, tmp_path: Path
) -> None:
    def wait_for_phase(phase: str) -> None:
        wait_for(lambda: client.status().phase == phase, 20, f"phase {phase}, now {client.status()}")

    client.ask(Verb.RECORD, task="hand over")
    wait_for_phase("policy")
    client.ask(Verb.TAKEOVER)
    wait_for_phase("align")
    held = client.status().joints.sent
    assert held is not None
    hand.move_hand(held, 2.0)
    wait_for_phase("ready")
    client.ask(Verb.TAKEOVER)
    wait_for_phase("operator")
    hand.move_hand([angle + 0.1 for angle in held], 0.5)
    wait_for(lambda: np.abs(np.subtract(client.status().joints.sent or held, held)).min() > 0.08, 20, "moving")
    client.ask(Verb.RELEASE)
    wait_for(lambda: client.status().phase in ("policy", "hold"), 20, "handed back")
    client.ask(Verb.STOP_EPISODE)

    episode = open_episode(find(tmp_path / "collection")[0])
    (control,) = episode.by_role(StreamRole.CONTROL)
    (leader,) = episode.by_role(StreamRole.OPERATOR)
    source, sent = control.field("source"), control.field("sent")  # type: ignore[union-attr]
    assert len(leader) > 50
    assert np.abs(np.diff(sent, axis=0)).max() <= 2.5 / 200 + 1e-9
    (one,) = episode.info.interventions
    assert one.handover_mode == "leader_to_follower"
    frozen = sent[one.takeover_row - 1]
    waiting = slice(one.takeover_row, one.operator_start_row)
    assert set(source[waiting].tolist()) == {ControlSource.HANDOVER}
    assert np.abs(sent[waiting] - frozen).max() < 0.06, "the arm waits for the hand, not the other way round"
