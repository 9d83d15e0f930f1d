"""Scripted stand-ins for the MuJoCo workcell: a policy that misses on purpose, and an operator who rescues it.

They let a newcomer, a test and the demo run the whole path without hardware, a model or a person.
"""

from collections.abc import Callable

from drivers.samples import FloatArray
from drivers.sim.pick_and_place import PickAndPlace, block_in_bin, block_lifted
from teleop_app.station.arbiter import Edge, Phase
from teleop_app.station.config import ScriptedSimPolicyConfig
from teleop_app.station.proposals import Observation

GRIPPER = 5
"""Index of the gripper among the arm's joints."""
CLOSED = 0.25
"""Below this the gripper is closing or closed [rad]."""
MISSED_AFTER_NS = 1_200_000_000
"""The gripper has been closed for so long and nothing was lifted: the policy has missed."""
RECOVERED_AFTER_NS = 400_000_000
"""The block has been in the air for so long: the policy can have it back."""


class ScriptedPolicy:
    """Pick-and-place; some attempts aim beside the block and so never lift it."""

    def __init__(self, config: ScriptedSimPolicyConfig) -> None:
        """Attempts are told apart by `begin_attempt`."""
        self._config = config
        self._script = PickAndPlace()
        self.id = f"scripted-pick-and-place/fail-every-{config.fail_every}"

    def begin_attempt(self, attempt: int) -> None:
        """Choose the aim of attempt number `attempt`, counted from 0."""
        every = self._config.fail_every
        misses = every > 0 and attempt % every == 0
        self._script = PickAndPlace(self._config.miss if misses else (0.0, 0.0))

    def reset(self) -> None:
        """Start over from what is seen."""
        self._script.reset()

    def propose(self, observation: Observation) -> FloatArray | None:
        """Joint targets [rad], shape (6,)."""
        return self._script.target(observation.stamp_ns, observation.position, observation.objects)


class ScriptedOperator:
    """Demonstrates, and in a policy's attempt takes over after a miss, lifts the block and hands back."""

    id = "scripted-operator"

    def __init__(self, ask: Callable[[Edge, str], None] | None, phase: Callable[[], Phase]) -> None:
        """Ask for edges through `ask` with a reason, seeing the arbiter's `phase`; None never asks."""
        self._script = PickAndPlace()
        self._ask, self._phase = ask, phase
        self._watching = False
        self._closed_ns = self._lifted_ns = 0

    def begin_attempt(self, attempt: int, *, watch: bool) -> None:
        """A new attempt; with `watch` the policy is watched and rescued."""
        del attempt
        self._watching = watch
        self._closed_ns = self._lifted_ns = 0

    def reset(self) -> None:
        """Start over from what is seen."""
        self._script.reset()

    def propose(self, observation: Observation) -> FloatArray | None:
        """Joint targets [rad], shape (6,); asks for takeover or release when it is time."""
        if self._watching and self._ask is not None:
            self._watch(observation, self._ask)
        return self._script.target(observation.stamp_ns, observation.position, observation.objects)

    def _watch(self, observation: Observation, ask: Callable[[Edge, str], None]) -> None:
        now_ns, lifted = observation.stamp_ns, block_lifted(observation.objects)
        closed = observation.position[GRIPPER] < CLOSED and not lifted
        self._closed_ns = (self._closed_ns or now_ns) if closed else 0
        self._lifted_ns = (self._lifted_ns or now_ns) if lifted else 0
        phase = self._phase()
        missed = self._closed_ns and now_ns - self._closed_ns > MISSED_AFTER_NS
        if phase is Phase.POLICY and missed and not block_in_bin(observation.objects):
            ask(Edge.TAKEOVER, "already_failed")
            self._closed_ns = 0
        elif phase is Phase.OPERATOR and self._lifted_ns and now_ns - self._lifted_ns > RECOVERED_AFTER_NS:
            ask(Edge.RELEASE, "")
            self._lifted_ns = 0


class TaskJudge:
    """Says when the scripted task is done: the block has lain in the bin with the gripper open for a moment."""

    REST_NS = 500_000_000

    def __init__(self) -> None:
        """Start a new attempt."""
        self._since_ns = 0

    def done(self, observation: Observation) -> bool:
        """Whether the task is done as of `observation`."""
        resting = block_in_bin(observation.objects) and observation.position[GRIPPER] > CLOSED
        self._since_ns = (self._since_ns or observation.stamp_ns) if resting else 0
        return bool(self._since_ns) and observation.stamp_ns - self._since_ns > self.REST_NS
