"""Where the operator's actions come from: a leader arm, or a scripted operator. The control loop sees one Protocol."""

from typing import Protocol

from drivers.polling import PollingReader
from drivers.samples import JointState, frozen_array
from teleop_app.station.proposals import Proposal, ProposalRunner


class OperatorSource(Protocol):
    """Supplies the operator's newest action in the follower's joints."""

    @property
    def direct(self) -> bool:
        """Whether control may change hands without aligning: the actions start from where the follower is."""
        ...

    @property
    def handover_mode(self) -> str:
        """How the operator takes over, as interventions record it: clutch, leader_to_follower, ... or none."""
        ...

    def latest(self) -> Proposal | None:
        """The newest action, None while there is none."""
        ...

    def engage(self) -> None:
        """Control is about to change hands: forget the past."""
        ...


class ScriptedSource:
    """A scripted operator: its actions start from where the arm is."""

    direct = True
    handover_mode = "none"

    def __init__(self, runner: ProposalRunner) -> None:
        """Use the proposals of `runner`."""
        self._runner = runner

    def latest(self) -> Proposal | None:
        """The newest action, None while there is none."""
        return self._runner.latest

    def engage(self) -> None:
        """Start the script afresh from the arm's present pose."""
        self._runner.reset()


class LeaderSource:
    """A leader arm whose joints, by name, are the follower's: it must be brought to the follower's pose first."""

    direct = False
    handover_mode = "leader_to_follower"

    def __init__(self, reader: PollingReader[JointState], order: tuple[int, ...]) -> None:
        """Take joint `order[i]` of the leader for joint i of the follower."""
        self._reader = reader
        self._order = list(order)

    def latest(self) -> Proposal | None:
        """The newest leader pose, None while there is none."""
        sample = self._reader.latest
        if sample is None:
            return None
        return Proposal(sample.stamp_ns, frozen_array(sample.position[self._order]), 0.0)

    def engage(self) -> None:
        """Nothing to forget: the pose is absolute."""


def joint_order(leader: tuple[str, ...], follower: tuple[str, ...]) -> tuple[int, ...] | str:
    """Index of each follower joint in the leader's, or a sentence naming the joints that the leader lacks."""
    missing = [name for name in follower if name not in leader]
    if missing:
        return f"the leader has no joint {', '.join(missing)}; it has {', '.join(leader)}"
    return tuple(leader.index(name) for name in follower)
