"""What one tick of the control loop saw and did."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drivers.samples import FloatArray
from teleop_app.station.arbiter import SOURCES, Phase
from teleop_app.station.limits import Clamp
from teleop_app.station.proposals import Proposal
from teleop_app.station.recording import PHASE_CODES, nothing


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a tick decides from; ages are judged against `now_ns`."""

    now_ns: int
    deadline_ns: int
    state: FloatArray | None
    """Newest measured position [rad], shape (n_joints,)."""
    state_ns: int
    """Its stamp [ns]; 0 if none."""
    operator: Proposal | None
    policy: Proposal | None

    def age_s(self, proposal: Proposal | None) -> float:
        """Age of a proposal [s]; infinite if there is none."""
        return (self.now_ns - proposal.stamp_ns) / 1e9 if proposal is not None else float("inf")

    @property
    def state_age_s(self) -> float:
        """Age of the measured state [s]; infinite if there is none."""
        return (self.now_ns - self.state_ns) / 1e9 if self.state is not None else float("inf")


@dataclass(frozen=True, slots=True)
class TickRecord:
    """One row of the control stream, and what the status shows."""

    inputs: Inputs
    phase: Phase
    blend: float
    sent: FloatArray | None
    clamps: Clamp
    operator_valid: bool
    policy_valid: bool

    def values(self, n_joints: int) -> Mapping[str, Any]:
        """The row, in the fields of `recording.control_spec`."""
        seen = self.inputs
        row: dict[str, Any] = {
            "deadline": seen.deadline_ns,
            "source": SOURCES[self.phase].value,
            "phase": PHASE_CODES[self.phase],
        }
        if not n_joints:
            return row
        absent = nothing(n_joints)
        row |= {
            "blend": self.blend,
            "operator_action": seen.operator.position if seen.operator and self.operator_valid else absent,
            "operator_valid": self.operator_valid,
            "policy_action": seen.policy.position if seen.policy and self.policy_valid else absent,
            "policy_valid": self.policy_valid,
            "policy_time": seen.policy.stamp_ns if seen.policy and self.policy_valid else 0,
            "sent": self.sent if self.sent is not None else absent,
            "state": seen.state if seen.state is not None else absent,
            "state_time": seen.state_ns,
            "clamps": self.clamps.value,
        }
        return row
