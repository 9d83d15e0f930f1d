"""A station over its sockets: what clients see, what they may ask, and what they are told when they may not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from drivers.emulators.feetech import FeetechEmulator
from drivers.emulators.pty import PtyServer
from recorder.collection import list_episodes
from recorder.segments import CollectionMode, ControlSource, Outcome
from teleop_app.station.client import StationClient
from teleop_app.station.config import StationConfig
from teleop_app.station.errors import RequestRefusedError, StationError
from teleop_app.station.messages import EpisodeRow, Hello, Reply, Verb
from teleop_app.station.server import StationServer
from teleop_app.station.station import Station
from tests.system.commands import wait_for


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    """A passive station that listens to an emulated arm."""
    pty = PtyServer(FeetechEmulator(range(1, 3)), link=tmp_path / "port")
    pty.start()
    arm = {"driver": "servo_arm", "name": "arm", "port": str(tmp_path / "port"), "joints": {"pan": 1, "lift": 2}}
    config = StationConfig.model_validate({"station": "bench", "mode": "passive", "devices": [{**arm, "rate_hz": 50}]})
    running = Station(config, tmp_path / "collection")
    running.connect()
    running.start()
    yield running
    running.stop()
    pty.stop()


@pytest.fixture
def client(station: Station) -> Iterator[StationClient]:
    server = StationServer(station, port=0)
    server.start()
    with StationClient(server.endpoint, "test") as connected:
        yield connected
    server.stop()


def test_hello_says_what_the_station_is(client: StationClient) -> None:
    hello = Hello.model_validate(client.ask(Verb.HELLO).data)
    assert (hello.station, hello.cameras) == ("bench", ())
    assert hello.feed_endpoint.startswith("tcp://127.0.0.1:")
    assert len(hello.reasons) == 9


def test_the_status_is_live_and_says_what_is_possible(client: StationClient) -> None:
    wait_for(lambda: client.status().streams[0].rate_hz > 40)
    status = client.status()
    assert (status.control_source, status.recording, status.streams[0].fault) == ("policy", False, "")
    assert status.joints.names == ("pan", "lift")
    assert Verb.RECORD in status.allowed
    assert status.denied["stop_episode"] == "No episode is being recorded."


def test_an_episode_from_afar_with_a_tagged_takeover(client: StationClient, station: Station) -> None:
    client.ask(Verb.RECORD, task="watch")
    assert client.status().recording
    client.ask(Verb.TAKEOVER)
    wait_for(lambda: client.status().control_source == "operator")
    client.ask(Verb.REASON, reason="stuck")
    client.ask(Verb.RELEASE)
    wait_for(lambda: client.status().control_source == "policy")
    client.ask(Verb.SUCCESS)
    reply = client.ask(Verb.STOP_EPISODE)
    assert "1 intervention, saved in" in reply.message
    (info,) = list_episodes(station.session.collection)
    assert (info.collection_mode, info.outcome, info.task) == (CollectionMode.PASSIVE, Outcome.SUCCESS, "watch")
    assert [segment.source for segment in info.segments] == [
        ControlSource.POLICY,
        ControlSource.OPERATOR,
        ControlSource.POLICY,
    ]
    assert info.interventions[0].reason == "stuck"
    row = EpisodeRow.model_validate(client.ask(Verb.EPISODES).data["episodes"][0])
    assert (row.index, row.interventions) == (0, 1)
    client.ask(Verb.DISCARD, id=info.id)
    assert client.ask(Verb.EPISODES).data["episodes"] == []
    client.ask(Verb.UNDO_DISCARD)
    assert len(client.ask(Verb.EPISODES).data["episodes"]) == 1


def test_what_is_said_after_the_stop_is_said_of_the_last_episode(client: StationClient, station: Station) -> None:
    client.ask(Verb.RECORD, task="watch")
    client.ask(Verb.TAKEOVER)
    wait_for(lambda: client.status().control_source == "operator")
    client.ask(Verb.STOP_EPISODE)
    wait_for(lambda: "success" in client.status().allowed)
    client.ask(Verb.FAILURE)
    client.ask(Verb.REASON, reason="stuck")
    client.ask(Verb.NOTE, text="the gripper slipped")
    (info,) = list_episodes(station.session.collection)
    assert (info.outcome, info.interventions[0].reason) == (Outcome.FAILURE, "stuck")
    assert "the gripper slipped" in info.notes
    assert [label.author for label in info.labels] == ["operator"] * 3


def test_pause_note_and_record_again_from_afar(client: StationClient, station: Station) -> None:
    client.ask(Verb.RECORD, task="watch")
    client.ask(Verb.PAUSE_RECORDING)
    wait_for(lambda: "resume_recording" in client.status().allowed)
    client.ask(Verb.RESUME_RECORDING)
    client.ask(Verb.NOTE, text="the lamp flickers")
    with pytest.raises(RequestRefusedError, match="a note needs a text"):
        client.ask(Verb.NOTE, text=" ")
    client.ask(Verb.RERECORD)
    client.ask(Verb.STOP_EPISODE)
    client.ask(Verb.UNDO_DISCARD)
    first, again = list_episodes(station.session.collection)
    assert (first.index, again.index, again.task) == (0, 1, "watch")
    assert [event.kind for event in first.events][:3] == ["recording_paused", "recording_resumed", "note"]
    assert again.events[0].kind == "stream_closed"


@pytest.mark.parametrize(
    ("verb", "args", "sentence"),
    [
        (Verb.STOP_EPISODE, {}, "No episode is being recorded."),
        (Verb.RELEASE, {}, "Not possible while the arm is in policy."),
        (Verb.STOP, {}, "This station only records; the robot is stopped at its own controller."),
        (Verb.RECORD, {}, "the episode needs a task: say what is to be done"),
        (Verb.UNDO_DISCARD, {}, "Nothing has been discarded."),
        (Verb.DISCARD, {"id": "x"}, "There is no episode to discard."),
    ],
)
def test_what_is_impossible_is_refused_with_its_reason(
    client: StationClient, verb: Verb, args: dict[str, str], sentence: str
) -> None:
    with pytest.raises(RequestRefusedError) as caught:
        client.ask(verb, **args)
    assert str(caught.value) == sentence


def test_nonsense_on_the_socket_is_answered_and_does_no_harm(client: StationClient) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(client.endpoint)
    socket.send(b"\xff not json")
    assert socket.poll(2000)
    assert not Reply.model_validate_json(socket.recv()).ok
    socket.close()
    context.term()
    assert client.ask(Verb.HELLO).ok


def test_a_taken_port_is_one_sentence(client: StationClient, station: Station) -> None:
    port = int(client.endpoint.rpartition(":")[2])
    with pytest.raises(StationError, match=f"port {port} on 127.0.0.1: .*; is a station running"):
        StationServer(station, port=port).start()


def test_a_station_that_ends_while_recording_keeps_the_episode(station: Station) -> None:
    station.session.start(CollectionMode.PASSIVE, "watch")
    station.stop()
    (info,) = list_episodes(station.session.collection)
    assert (info.state.value, info.outcome) == ("complete", Outcome.ABORTED)
