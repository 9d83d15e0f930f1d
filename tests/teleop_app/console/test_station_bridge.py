"""Silence, reconnection, and answers that do not come: what the operator is told, and when."""

import threading
import time

import pytest
import zmq

from teleop_app.console.inbox import Inbox, Link, LinkState, Preview
from teleop_app.console.main_window import MainWindow
from teleop_app.console.pictures import PictureDecoder, PictureError
from teleop_app.console.station_bridge import StationBridge
from teleop_app.station.errors import StationError
from teleop_app.station.messages import PREVIEW_PREFIX, STATUS_TOPIC, PreviewHeader, Verb
from tests.fakes.hands import press, wait_until
from tests.fakes.station import FakeStation, moving_frames


def heard(window: MainWindow) -> bool:
    return window.situation.live


def said(window: MainWindow, words: str) -> bool:
    return any(words in line for line in window.log.lines)


def test_silence_is_said_within_a_second_and_its_end_too(station: FakeStation, window: MainWindow) -> None:
    station.silent.set()
    since = time.perf_counter()
    wait_until(lambda: "Station has been silent for" in window.faults.text.text(), "the silence is said")
    assert time.perf_counter() - since < 1.0
    assert window.faults.isVisible()
    assert window.banner.look.word == "UNKNOWN"
    assert not window.action_bar.buttons["record"].isEnabled()
    assert window.action_bar.buttons["stop"].isEnabled()
    station.silent.clear()
    wait_until(lambda: heard(window), "the station is heard again")
    assert said(window, "The station is back after")
    wait_until(lambda: not window.faults.isVisible() and window.banner.look.word == "POLICY", "all well")


def test_a_station_that_comes_back_elsewhere_is_followed(window: MainWindow, station: FakeStation) -> None:
    """Killed and started again: same request port, another feed port, other cameras."""
    port = int(station.endpoint.rsplit(":", 1)[1])
    station.stop()
    wait_until(lambda: not heard(window), "the silence is noticed")
    with FakeStation(request_port=port, cameras=("front", "side"), size=(60, 80)):
        wait_until(lambda: heard(window), "the new station is heard")
        wait_until(lambda: list(window.grid.tiles) == ["front", "side"], "its cameras are shown")
        wait_until(lambda: window.grid.tiles["side"].preview is not None, "its pictures arrive")
        wait_until(lambda: said(window, "Connected to the station"), "said")


def test_what_is_pressed_during_an_outage_does_not_happen_after_it(window: MainWindow, station: FakeStation) -> None:
    port = int(station.endpoint.rsplit(":", 1)[1])
    station.stop()
    wait_until(lambda: not heard(window), "the silence is noticed")
    press(window, "R")
    assert said(window, "Record is not possible now: The station cannot be heard.")
    press(window, "Esc")
    wait_until(lambda: said(window, "STOP (software) was not sent"), "the stop's failure is said")
    assert said(window, "Use the hardware stop.")
    with FakeStation(request_port=port, cameras=("front", "wrist"), size=(60, 80)) as again:
        wait_until(lambda: heard(window), "the new station is heard")
        press(window, "P")
        wait_until(lambda: bool(again.verbs()), "the next request arrives")
        assert again.verbs() == [Verb.PAUSE]


def test_a_request_without_an_answer_is_said(window: MainWindow, station: FakeStation) -> None:
    station.mute = {Verb.PAUSE}
    press(window, "P")
    wait_until(lambda: said(window, "Pause was not answered within 1 s."), "the missing answer is said")


def test_a_refusal_is_shown_in_the_stations_words(window: MainWindow, station: FakeStation) -> None:
    station.refuse = {Verb.RECORD: "The disk is full."}
    press(window, "R")
    wait_until(lambda: said(window, "The disk is full."), "the refusal is shown")


def test_no_station_at_all(open_window: object) -> None:
    window = open_window("tcp://127.0.0.1:9")  # type: ignore[operator]
    wait_until(lambda: "No station answers at tcp://127.0.0.1:9" in window.faults.text.text(), "said")
    press(window, "Esc")
    wait_until(lambda: said(window, "STOP (software) was not sent"), "the stop's failure is said")


@pytest.mark.parametrize("endpoint", ["nonsense", "tcp://127.0.0.1:port", "http://localhost:1"])
def test_an_address_that_is_none_is_refused_in_one_sentence(endpoint: str) -> None:
    bridge = StationBridge(endpoint)
    with pytest.raises(StationError, match="is not an address of a station"):
        bridge.start()
    bridge.close()


def test_messages_that_make_no_sense_are_counted_and_said(open_window: object) -> None:
    """A station of another version, or something else altogether, on the feed."""
    with FakeStation(cameras=(), size=(60, 80)) as station:
        window = open_window(station.endpoint)  # type: ignore[operator]
        wait_until(lambda: heard(window), "the station is heard")
        client_feed = station.feed_endpoint
        station.stop()
        context = zmq.Context()
        feed = context.socket(zmq.PUB)
        feed.bind(client_feed)
        try:
            header = PreviewHeader(camera="front", stamp_ns=0, sequence=1, height=60, width=80).model_dump_json()

            def send() -> bool:
                feed.send_multipart([STATUS_TOPIC, b'{"time_ns": "soon"}'])
                feed.send_multipart([PREVIEW_PREFIX + b"front", header.encode(), b"no jpeg"])
                feed.send_multipart([PREVIEW_PREFIX + b"front", header.encode()])
                return all(said(window, words) for words in ("StationStatus", "a picture of front", "with 2 parts"))

            wait_until(send, "all three are said")
        finally:
            feed.close(0)
            context.term()


def test_only_the_newest_preview_waits_for_a_slow_window() -> None:
    inbox, decoder = Inbox(), PictureDecoder()
    jpeg = next(moving_frames(0, (60, 80)))
    told = 0
    for sequence in range(100):
        header = PreviewHeader(camera="front", stamp_ns=sequence, sequence=sequence, height=60, width=80)
        told += inbox.put(decoder.decode(header, jpeg))
    assert told == 1
    assert [preview.header.sequence for preview in inbox.take().previews.values()] == [99]
    assert inbox.take().previews == {}


def test_a_buffer_is_not_used_again_while_its_picture_is_held() -> None:
    decoder = PictureDecoder()
    frames = list(moving_frames(0, (60, 80)))

    def decode(index: int) -> Preview:
        header = PreviewHeader(camera="front", stamp_ns=0, sequence=index, height=60, width=80)
        return decoder.decode(header, frames[index % len(frames)])

    held = decode(0)
    before = held.image.copy()
    for index in range(1, 50):
        decode(index)
    assert held.image == before
    assert decode(0).image == before


@pytest.mark.parametrize(("size", "jpeg"), [((60, 80), b"xx"), ((60, 81), None), ((480, 640), None)])
def test_a_picture_that_is_not_what_its_header_says(size: tuple[int, int], jpeg: bytes | None) -> None:
    header = PreviewHeader(camera="front", stamp_ns=0, sequence=0, height=size[0], width=size[1])
    with pytest.raises(PictureError, match=f"not a JPEG of {size[1]} x {size[0]}"):
        PictureDecoder().decode(header, jpeg or next(moving_frames(0, (60, 80))))


def test_closing_works_from_any_state() -> None:
    never_started = StationBridge("tcp://127.0.0.1:9")
    never_started.close()
    assert never_started.request(Verb.PAUSE) == 1
    bridge = StationBridge("tcp://127.0.0.1:9")
    bridge.start()
    bridge.start()
    bridge.close()
    bridge.close()
    assert not [t for t in threading.enumerate() if t.name == "station-bridge"]


def test_a_broken_link_has_words() -> None:
    assert "restart the console" in Link(LinkState.BROKEN, "tcp://x").sentence()
    assert "sends no status" in Link(LinkState.SEARCHING, "tcp://x", 2.0, "tcp://y").sentence()
