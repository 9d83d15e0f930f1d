"""Which reliability to ask for, given who publishes: pure decisions, no ROS import.

A reliable subscription receives nothing from a best-effort publisher; a best-effort subscription receives from both,
but may lose what a reliable publisher would have repeated. So: reliable unless somebody offers best effort. Volatile
durability and no deadline are compatible with every publisher.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Publisher:
    """One publisher of a topic, as the ROS graph shows it."""

    node: str
    """Fully qualified node name, empty while unknown."""
    type: str
    """Message type, like sensor_msgs/msg/JointState."""
    reliability: str
    """reliable, best_effort or unknown."""
    durability: str
    """volatile, transient_local or unknown."""

    def __str__(self) -> str:
        """For an operator's sentence."""
        node = self.node or "of an unknown node"
        return f"{node} ({self.type}, {self.reliability.replace('_', ' ')}, {self.durability.replace('_', ' ')})"


def wants_best_effort(publishers: Sequence[Publisher], message_type: str) -> bool:
    """Tell whether a subscription to `message_type` must be best effort to hear all of `publishers`."""
    return any(p.reliability == "best_effort" for p in publishers if p.type == message_type)


def describe(publishers: Sequence[Publisher]) -> str:
    """List `publishers` for a sentence; "no publisher" if there is none."""
    if not publishers:
        return "no publisher"
    return ("publisher " if len(publishers) == 1 else "publishers ") + ", ".join(str(p) for p in publishers)


def type_problem(topic: str, message_type: str, publishers: Sequence[Publisher]) -> str | None:
    """Say that everybody on `topic` publishes another type; None if somebody publishes ours, or nobody publishes."""
    if not publishers or any(p.type == message_type for p in publishers):
        return None
    return f"topic {topic} carries another type: wanted {message_type}, found {describe(publishers)}"


def qos_problem(topic: str, policy: str, asked: str, publishers: Sequence[Publisher]) -> str:
    """Name both sides of a mismatch that no choice of ours resolves."""
    return f"topic {topic}: incompatible {policy} between our {asked} subscription and {describe(publishers)}"
