"""What an operator sees in each state."""

import time

import pytest
from PyQt6.QtCore import QRect, Qt
from PyQt6.QtGui import QColor
from PyQt6.QtTest import QTest

from recorder.segments import ControlSource
from teleop_app.console.inbox import LinkState
from teleop_app.console.keyboard import DEBOUNCE_MS
from teleop_app.console.looks import PHASES, SOURCES, look
from teleop_app.console.main_window import MainWindow
from teleop_app.console.panels.camera_grid import FRAME, arrange
from teleop_app.console.panels.handover import rows_of
from teleop_app.console.panels.joints import ALL
from teleop_app.console.panels.top_bar import clock
from teleop_app.console.stream_health import Level, judge, judge_disk, judge_loop
from teleop_app.console.theme import DARK, LIGHT, Palette
from teleop_app.station.arbiter import Phase
from teleop_app.station.messages import HandoverStatus, LoopStatus, StationStatus, StreamStatus, Verb
from tests.fakes.hands import press, wait_until
from tests.fakes.station import FAULT, SOURCE_OF_PHASE, FakeStation, episode

NEXT = {
    "hold": "Space takes over · P resumes the policy",
    "policy": "Space takes over",
    "align": "⌫ gives up",
    "ready": "Space engages · ⌫ gives up",
    "operator": "Space releases",
    "stopped": "Ctrl R re-arms",
}
COLOURS = {"policy": DARK.policy, "operator": DARK.operator, "hold": DARK.hold, "stopped": DARK.stopped}


@pytest.mark.parametrize("phase", list(Phase))
def test_the_banner_says_who_commands_in_colour_word_and_shape(
    station: FakeStation, window: MainWindow, phase: Phase
) -> None:
    station.update(phase=phase.value)
    expected = PHASES[phase.value]
    wait_until(lambda: window.banner.look == expected, "the banner follows")
    assert window.banner.look.word == SOURCE_OF_PHASE[phase.value].upper()
    assert NEXT.get(phase.value, "") in window.banner.sentence
    banner = window.banner.grab().toImage()
    corner = QColor(banner.pixel(3, 3))
    if phase.value in COLOURS:
        assert corner == QColor(COLOURS[phase.value])
    else:
        assert abs(corner.hue() - QColor(DARK.handover).hue()) < 10
    frame = QColor(window.grid.grab().toImage().pixel(1, 1))
    assert frame == QColor(getattr(DARK, expected.tint.value))


def test_every_phase_and_source_has_a_look_of_its_own() -> None:
    assert set(PHASES) == {phase.value for phase in Phase}
    assert set(SOURCES) == {source.name.lower() for source in ControlSource}
    looks = {PHASES[phase.value] for phase in Phase}
    by_word = {(look.word, look.shape, look.tint) for look in looks}
    assert len(by_word) == len({look.word for look in looks}) == len({look.tint for look in looks})


def test_the_source_wins_over_a_phase_that_disagrees() -> None:
    now = StationStatus(time_ns=0, station="s", mode="active", control_source="operator", phase="policy")
    assert look(now, LinkState.LIVE).word == "OPERATOR"
    assert look(now, LinkState.SILENT).word == look(None, LinkState.LIVE).word == "UNKNOWN"


def test_handover_stripes_move_and_stop(station: FakeStation, window: MainWindow) -> None:
    station.update(phase="align")
    wait_until(lambda: window.banner.look.stripes, "handover")
    first = window.banner.grab().toImage()
    wait_until(lambda: window.banner.grab().toImage() != first, "the stripes move")
    station.update(phase="operator")
    wait_until(lambda: window.banner.look.word == "OPERATOR", "operator")
    still = window.banner.grab().toImage()
    QTest.qWait(150)
    assert window.banner.grab().toImage() == still


def test_the_top_of_the_side_column_follows_the_handover(station: FakeStation, window: MainWindow) -> None:
    side = window.side
    assert side.top.currentWidget() is side.episodes
    wait_until(side.tactile.isVisible, "all panels are there")
    QTest.qWait(50)
    place = side.top.geometry()
    station.update(phase="align")
    wait_until(lambda: side.top.currentWidget() is side.handover, "handover")
    station.update(phase="operator")
    wait_until(lambda: side.top.currentWidget() is side.reasons, "reasons")
    press(window, "2")
    wait_until(lambda: side.reasons.chosen.text() == "missed grasp", "the reason is confirmed")
    assert station.requests[-1].args == {"reason": "missed grasp"}
    station.update(phase="policy")
    wait_until(lambda: side.top.currentWidget() is side.episodes, "episodes")
    assert side.top.geometry() == place


def test_handover_rows_point_the_way_and_keep_their_order() -> None:
    handover = HandoverStatus(progress=0.2, errors=(0.3, -0.2, 0.01, 0.1), tolerance=0.05)
    rows = rows_of(handover, ("a", "b", "c"), 3)
    assert [(row.name, row.advice) for row in rows] == [("a", "◀ move"), ("b", "move ▶"), ("joint 3", "◀ move")]
    assert rows_of(handover, ("a", "b", "c"), 9)[2].advice == "✓"


def test_a_camera_without_new_pictures_is_dimmed_with_its_age_in_words(
    station: FakeStation, window: MainWindow
) -> None:
    tiles = window.grid.tiles
    wait_until(lambda: all(tile.preview is not None for tile in tiles.values()), "pictures")
    wait_until(lambda: not tiles["wrist"].overlay(), "fresh")
    station.silent_cameras = {"wrist"}
    wait_until(lambda: tiles["wrist"].stale, "stale")
    assert tiles["wrist"].overlay().startswith("no new picture for 0.")
    assert not tiles["front"].stale
    wait_until(lambda: window.health.cells["wrist"].property("level") == "red", "the strip shows it")
    station.silent_cameras = set()
    wait_until(lambda: not tiles["wrist"].stale, "fresh again")


def test_clicking_a_camera_makes_it_the_largest(window: MainWindow) -> None:
    wait_until(lambda: len(window.grid.tiles) == 2, "cameras")
    QTest.mouseClick(window.grid.tiles["wrist"], Qt.MouseButton.LeftButton)
    assert list(window.grid.tiles) == ["wrist", "front"]
    assert window.grid.tiles["wrist"].width() > window.grid.tiles["front"].width()


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize(("width", "height"), [(1006, 460), (1040, 640), (800, 900)])
def test_pictures_never_overlap_and_the_first_is_largest(count: int, width: int, height: int) -> None:
    rects = arrange(count, width, height)
    assert len(rects) == count
    area = QRect(0, 0, width, height)
    assert all(area.contains(rect) for rect in rects)
    assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[i + 1 :])
    assert all(rects[0].width() * rects[0].height() > r.width() * r.height() for r in rects[1:])
    assert min(rect.width() for rect in rects) > 10 * FRAME


def test_faults_are_said_in_full_and_go_away(station: FakeStation, window: MainWindow) -> None:
    assert not window.faults.isVisible()
    station.update(faults=(FAULT,))
    wait_until(window.faults.isVisible, "the fault bar")
    assert window.faults.text.text() == FAULT
    assert any(FAULT in line for line in window.log.lines)
    station.update(faults=tuple(f"Fault {i}." for i in range(5)))
    wait_until(lambda: "And 2 more." in window.faults.text.text(), "five faults")
    station.update(faults=())
    wait_until(lambda: not window.faults.isVisible(), "all well")


def test_a_fault_whose_age_grows_is_told_once(station: FakeStation, window: MainWindow) -> None:
    for tenths in range(5):
        fault = f"arm has been silent for 1.{tenths} s."
        station.update(streams=(stream(name="arm", rate_hz=0.0, age_s=1.0 + tenths / 10, fault=fault),))
        wait_until(lambda fault=fault: window.faults.text.text() == fault, "the bar follows")
    assert sum("arm has been silent" in line for line in window.log.lines) == 1


def stream(**fields: float | str) -> StreamStatus:
    base: dict[str, float | str] = {
        "name": "front",
        "role": "camera",
        "expected_hz": 30.0,
        "rate_hz": 30.0,
        "age_s": 0.01,
    }
    return StreamStatus.model_validate(base | fields)


@pytest.mark.parametrize(
    ("sample", "level", "text"),
    [
        (stream(), Level.OK, "30.0"),
        (stream(rate_hz=28.0), Level.AMBER, "28.0"),
        (stream(rate_hz=34.0), Level.AMBER, "34.0"),
        (stream(rate_hz=0.0, age_s=2.44), Level.RED, "2.4 s"),
        (stream(rate_hz=0.0, age_s=-1), Level.RED, "never"),
        (stream(fault="unplugged"), Level.RED, "30.0"),
        (stream(expected_hz=200.0, rate_hz=199.8), Level.OK, "200"),
        (stream(expected_hz=1.0, rate_hz=1.0, age_s=3.0), Level.OK, "1.0"),
    ],
)
def test_the_limits_of_the_health_strip(sample: StreamStatus, level: Level, text: str) -> None:
    verdict = judge(sample)
    assert (verdict.level, verdict.text) == (level, text)
    assert "front" in verdict.sentence or verdict.sentence == sample.fault


def test_the_limits_of_loop_and_disk() -> None:
    assert judge_loop(LoopStatus(rate_hz=200, lateness_p99_ms=0.2, missed=0, clamps=0)).level is Level.OK
    assert judge_loop(LoopStatus(rate_hz=200, lateness_p99_ms=0.2, missed=1, clamps=0)).text == "0.2 ms · 1 missed"
    assert judge_loop(LoopStatus(rate_hz=200, lateness_p99_ms=2.1, missed=0, clamps=0)).level is Level.AMBER
    assert [judge_disk(s).level for s in (None, 200.0, 1200.0, 22200.0)] == ["quiet", "red", "amber", "ok"]
    assert judge_disk(22200.0).text == "6 h 10 m"
    assert (clock(41.9), clock(3725.0)) == ("00:41", "1:02:05")


def test_recording_is_shown_with_its_time(station: FakeStation, window: MainWindow) -> None:
    label = window.top_bar.recording
    wait_until(lambda: label.text() == "○  not recording", "idle")
    press(window, "R")
    wait_until(lambda: label.text().startswith("●  REC 00:0"), "recording")
    assert label.property("on") == "true"


def test_the_episode_list_follows_and_discards_any_row(station: FakeStation, window: MainWindow) -> None:
    panel = window.side.episodes
    station.episodes = [episode(0, "success"), episode(1, "failure")]
    press(window, "R")
    wait_until(lambda: window.top_bar.recording.property("on") == "true", "recording")
    QTest.qWait(DEBOUNCE_MS + 10)
    press(window, "R")
    wait_until(lambda: len(panel.model.rows) == 3, "the list follows")
    assert [row.index for row in panel.model.rows] == [2, 1, 0]
    assert panel.summary.text() == "3 kept, 1 success"
    index = panel.model.index(2, 4)
    assert index.data() == "discard"
    panel.table.clicked.emit(index)
    wait_until(lambda: Verb.DISCARD in station.verbs(), "asked")
    assert station.requests_of(Verb.DISCARD)[0].args == {"id": station.episodes[0].id}


def test_the_joint_plot_shows_all_or_one(station: FakeStation, window: MainWindow) -> None:
    plot = window.side.joints
    wait_until(lambda: len(plot.names) == 6, "joints")
    assert plot.selected == ALL
    QTest.mouseClick(plot.choice, Qt.MouseButton.LeftButton)
    assert plot.selected == "shoulder_pan"
    wait_until(lambda: all(curve.getData()[0] is not None for curve in plot.curves[:3]), "state, sent and policy")
    for _ in range(6):
        QTest.mouseClick(plot.choice, Qt.MouseButton.LeftButton)
    assert plot.selected == ALL


def test_touch_is_hidden_without_pads_and_its_scale_only_grows(station: FakeStation, window: MainWindow) -> None:
    wait_until(window.side.tactile.isVisible, "pads")
    station.update(tactile={"left": [[0.0, 7.0], [0.0, 0.0]]})
    wait_until(lambda: window.side.tactile.scale_n == 10.0, "a larger scale")
    station.update(tactile={"left": [[0.0, 0.1], [0.0]]})
    QTest.qWait(150)
    assert window.side.tactile.scale_n == 10.0
    station.update(tactile={})
    wait_until(lambda: not window.side.tactile.isVisible(), "no pads")


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [part / 255 for part in QColor(colour).getRgb()[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [DARK, LIGHT], ids=["dark", "light"])
def test_text_is_legible_in_both_themes(palette: Palette) -> None:
    for ground in (palette.window, palette.panel):
        assert contrast(palette.text, ground) > 10
        assert contrast(palette.quiet, ground) > 4.5
        assert contrast(palette.alarm, ground) > 4.5
        assert contrast(palette.amber, ground) > 4.5
    for tint in ("policy", "operator", "handover", "hold", "stopped"):
        assert contrast(getattr(palette, tint), getattr(palette, f"on_{tint}")) > 4.5


def test_nothing_is_clipped_at_1366_by_768(window: MainWindow) -> None:
    window.resize(1366, 768)
    deadline = time.perf_counter() + 0.3
    wait_until(lambda: time.perf_counter() > deadline, "settled")
    assert (window.width(), window.height()) == (1366, 768)
    for button in window.action_bar.buttons.values():
        assert button.width() >= button.sizeHint().width(), button.accessibleName()
    assert window.action_bar.geometry().bottom() < 768
