"""Who commanded the arm: control sources, segments and interventions, derived from what was executed.

A segment is a maximal run of equal control source on the control stream; intervals are half open, [start, end) in
rows of that stream. An intervention is one operator interval inside a policy episode, from the first row that is no
longer the policy's to the first row that is the policy's again.
"""

from enum import IntEnum, StrEnum


class ControlSource(IntEnum):
    """Who commands the follower at a tick; the value is what the control stream stores."""

    NONE = 0
    POLICY = 1
    OPERATOR = 2
    SHARED = 3
    HOLD = 4
    SCRIPTED = 5
    HANDOVER = 6
    STOPPED = 7


class CollectionMode(StrEnum):
    """Why an episode was recorded."""

    TELEOP_DEMO = "teleop_demo"
    """The operator commands from start to end; no interventions by definition."""
    INTERVENTION = "intervention"
    """A policy runs and the operator may take over."""
    PASSIVE = "passive"
    """A foreign controller commands; takeovers are tagged, nothing is sent."""


class Outcome(StrEnum):
    """How the attempt ended; unset until somebody says."""

    UNSET = "unset"
    SUCCESS = "success"
    FAILURE = "failure"
    ABORTED = "aborted"


class EpisodeState(StrEnum):
    """What is known of an episode's files."""

    RECORDING = "recording"
    COMPLETE = "complete"
    RECOVERED = "recovered"
    INTERRUPTED = "interrupted"
    """Recording ended without a stop and nothing has repaired it yet."""
