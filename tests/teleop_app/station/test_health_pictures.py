"""What is wrong with a camera's pictures is found, located and said; looks are few and cheap."""

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from drivers.configs import HealthLimits
from recorder import image_health
from teleop_app.station import health_pictures
from teleop_app.station.health_pictures import PictureWatch
from teleop_app.station.health_runs import HealthRun, Problem, RunLog

SECOND_NS = 1_000_000_000
FPS = 20
BLACK = np.zeros((120, 160, 3), np.uint8)


def picture(number: int = 0) -> NDArray[np.uint8]:
    """A sharp scene; its marker moves with `number`."""
    rng = np.random.default_rng(5)
    pixels = cv2.resize(rng.integers(30, 200, (30, 40, 3), np.uint8), (160, 120), interpolation=cv2.INTER_NEAREST)
    left = 4 * number % 150
    pixels[50:60, left : left + 10] = 240
    return pixels


class Show:
    """Frames at 20 a second before a watch."""

    def __init__(self, **limits: object) -> None:
        self.runs = RunLog("front")
        self.watch = PictureWatch("front", HealthLimits.model_validate(limits), self.runs)
        self.now_ns = SECOND_NS
        self.runs.begin(SECOND_NS)

    def play(self, seconds: float, frame: NDArray[np.uint8] | None = None) -> tuple[int, int]:
        """Show `frame`, or a scene that moves; return the interval [ns]."""
        start_ns = self.now_ns
        for number in range(round(seconds * FPS)):
            self.watch.take(picture(number) if frame is None else frame, self.now_ns)
            self.now_ns += SECOND_NS // FPS
        return start_ns, self.now_ns

    def end(self) -> tuple[HealthRun, ...]:
        self.runs.end(self.now_ns)
        self.runs.finish()
        return self.runs.take()


@pytest.mark.parametrize(
    ("frame", "problem", "sentence"),
    [
        (BLACK, Problem.BLACK, "front is black."),
        (np.full_like(BLACK, 255), Problem.SATURATED, "front is overexposed: 100% of the picture is white."),
        (cv2.GaussianBlur(picture(), (0, 0), 5), Problem.BLURRED, "front is blurred: "),
        (np.zeros(50, np.uint8), Problem.UNREADABLE, "front sends pictures that cannot be decoded."),
    ],
)
def test_a_bad_picture_is_one_run_located_to_a_look(frame: NDArray[np.uint8], problem: Problem, sentence: str) -> None:
    show = Show()
    show.play(4)
    start_ns, end_ns = show.play(2, frame)
    assert sentence in show.runs.sentences[problem]
    show.play(2)
    (run,) = show.end()
    assert (run.problem, run.sentence.startswith(sentence)) == (problem, True)
    assert 0 <= run.start_ns - start_ns <= health_pictures.LOOK_EVERY_NS
    assert 0 <= end_ns - run.end_ns <= health_pictures.LOOK_EVERY_NS


def test_a_flash_a_dimmed_lamp_and_a_moving_scene_are_well() -> None:
    show = Show()
    show.play(4)
    show.play(0.25, np.full_like(BLACK, 255))
    show.play(2, (picture() * 0.4).astype(np.uint8))
    show.watch.arm_moves(show.now_ns)
    show.play(3)
    assert show.end() == ()


def test_a_picture_that_stays_while_the_arm_moves_is_frozen_from_then_on() -> None:
    show = Show()
    show.play(4)
    resting, _ = show.play(2, picture(7))
    assert show.runs.sentences == {}
    moved_ns = show.now_ns
    show.watch.arm_moves(moved_ns)
    _, thawed_ns = show.play(2, picture(7))
    assert show.runs.sentences[Problem.FROZEN].endswith("while the arm moves.")
    show.play(1)
    (run,) = show.end()
    assert resting < moved_ns == run.start_ns
    assert 0 <= thawed_ns - run.end_ns <= health_pictures.LOOK_EVERY_NS


def test_a_picture_may_stay_when_the_arm_rests_or_is_not_seen() -> None:
    for limits, moves in (({}, False), ({"frozen_s": None}, True)):
        show = Show(**limits)
        show.watch.arm_moves(show.now_ns if moves else None)
        show.play(3, picture(3))
        assert show.end() == ()


def test_a_slow_change_is_a_change() -> None:
    show = Show()
    show.watch.arm_moves(show.now_ns)
    for level in range(40):  # two looks in a row differ by no more than is allowed
        show.play(0.25, np.full_like(BLACK, 60 + 2 * level))
    assert show.end() == ()


def test_looks_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    monkeypatch.setattr(health_pictures, "look", lambda frame: looks.append(frame) or image_health.look(frame))
    Show().play(10)
    assert len(looks) == 40


def test_the_cameras_own_sharpness_is_that_of_its_first_good_pictures() -> None:
    show = Show()
    show.play(2, BLACK)
    assert show.watch.sharpness is None
    show.play(4, picture())
    assert show.watch.sharpness == pytest.approx(image_health.look(picture()).sharpness)
