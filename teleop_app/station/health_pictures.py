"""Whether a camera shows what it should: not black, not overexposed, not blurred, not frozen while the arm moves.

A few looks a second are enough: what matters lasts longer, and each look costs about a millisecond.
"""

from statistics import median

import numpy as np
from numpy.typing import NDArray

from drivers.configs import HealthLimits
from recorder.image_health import Look, largest_difference, look
from teleop_app.station.health_runs import Problem, RunLog

LOOK_EVERY_NS = 250_000_000
BASELINE_LOOKS = 12
"""The camera's own sharpness is the median of so many good looks, its first three seconds."""


class PictureWatch:
    """Looks at one camera's frames. `take` is called by the camera's thread."""

    def __init__(self, name: str, limits: HealthLimits, runs: RunLog) -> None:
        """Look after `name`; what is found goes into `runs`."""
        self._name, self._limits, self._runs = name, limits, runs
        self._due_ns = 0
        self._bad_since: dict[Problem, int] = {}
        self._first: list[float] = []
        self._same: Look | None = None
        self._same_since_ns = 0
        self._moving_since_ns = 0
        self.sharpness: float | None = None
        """The camera's own, by which blur is judged; None before it is known."""

    def arm_moves(self, since_ns: int | None) -> None:
        """Say since when an arm moves [ns]; None if none does."""
        self._moving_since_ns = since_ns or 0

    def take(self, frame: bytes | NDArray[np.uint8], received_ns: int) -> None:
        """Look at a frame, a JPEG or RGB pixels, if it is time for the next look."""
        if received_ns < self._due_ns:
            return
        self._due_ns = received_ns + LOOK_EVERY_NS
        try:
            seen = look(frame)
        except ValueError:
            self._judge(Problem.UNREADABLE, received_ns, f"{self._name} sends pictures that cannot be decoded.")
            return
        self._judge(Problem.UNREADABLE, received_ns, "")
        self._judge_exposure(seen, received_ns)
        self._judge_motion(seen, received_ns)

    def _judge_exposure(self, seen: Look, at_ns: int) -> None:
        limits, name = self._limits, self._name
        black = f"{name} is black." if seen.brightness < limits.black_below else ""
        white = f"{name} is overexposed: {seen.white_share:.0%} of the picture is white."
        white = white if seen.white_share > limits.saturated_above else ""
        self._judge(Problem.BLACK, at_ns, black)
        self._judge(Problem.SATURATED, at_ns, white)
        if not black and not white:
            self._judge(Problem.BLURRED, at_ns, self._blurred(seen.sharpness))

    def _blurred(self, sharpness: float) -> str:
        if self.sharpness is None:
            self._first.append(sharpness)
            if len(self._first) == BASELINE_LOOKS:
                self.sharpness = median(self._first)
            return ""
        share = sharpness / self.sharpness if self.sharpness else 1.0
        if share >= self._limits.blurred_below:
            return ""
        return f"{self._name} is blurred: {share:.0%} of the sharpness of its first seconds."

    def _judge_motion(self, seen: Look, at_ns: int) -> None:
        """A frame is compared with the first of those that look the same, so that a slow change is one."""
        frozen_s, moving_since_ns = self._limits.frozen_s, self._moving_since_ns
        if self._same is None or largest_difference(self._same, seen) > self._limits.frozen_levels:
            self._same, self._same_since_ns = seen, at_ns
        since_ns = max(self._same_since_ns, moving_since_ns)
        if frozen_s is None or not moving_since_ns or at_ns - since_ns < frozen_s * 1e9:
            self._runs.good(Problem.FROZEN, at_ns)
            return
        lasted_s = (at_ns - since_ns) / 1e9
        sentence = f"{self._name} has shown the same picture for {lasted_s:.1f} s while the arm moves."
        self._runs.bad(Problem.FROZEN, since_ns, at_ns, sentence)

    def _judge(self, problem: Problem, at_ns: int, sentence: str) -> None:
        """A picture is bad once it has been for a while, and good at once."""
        if not sentence:
            self._bad_since.pop(problem, None)
            self._runs.good(problem, at_ns)
            return
        since_ns = self._bad_since.setdefault(problem, at_ns)
        if at_ns - since_ns >= self._limits.bad_picture_s * 1e9:
            self._runs.bad(problem, since_ns, at_ns, sentence)
