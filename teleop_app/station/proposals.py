"""Whoever proposes actions, a policy or a scripted operator, in a thread of its own; the control loop takes the newest.

A proposer may be slow or stall: the loop sees the age of its newest proposal and holds the arm, it never waits.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from drivers import clock
from drivers.samples import FloatArray, frozen_array
from teleop_app.station.rate import Ticker

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Observation:
    """What a proposer sees."""

    stamp_ns: int
    """Stamp of the joint state, monotonic clock [ns]."""
    position: FloatArray
    """Measured joints [rad], shape (n_joints,)."""
    objects: Mapping[str, FloatArray] = field(default_factory=dict)
    """Centres of known objects in the arm's base frame [m], each shape (3,)."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposed action."""

    stamp_ns: int
    """When it was ready, monotonic clock [ns]."""
    position: FloatArray
    """[rad], shape (n_joints,)."""
    latency_s: float
    """From observation to proposal [s]."""


class Proposer(Protocol):
    """A policy, or a scripted operator."""

    @property
    def id(self) -> str:
        """What an episode says about who proposed."""
        ...

    def reset(self) -> None:
        """Forget everything about the past: a new attempt, or control given back."""
        ...

    def propose(self, observation: Observation) -> FloatArray | None:
        """Propose joint positions [rad], shape (n_joints,); None for no opinion."""
        ...


class ProposalSource(Protocol):
    """The newest proposal of whoever proposes, as the control loop sees it."""

    @property
    def latest(self) -> Proposal | None:
        """The newest proposal, None before the first and after a reset."""
        ...

    def reset(self) -> None:
        """Forget the past before the next proposal and drop the newest one."""
        ...


class ProposalRunner:
    """Runs one proposer at its rate."""

    def __init__(self, proposer: Proposer, rate_hz: float, observe: Callable[[], Observation | None]) -> None:
        """Prepare; `observe` gives the newest observation, None while there is none."""
        self.proposer = proposer
        self._observe = observe
        self._ticker = Ticker(rate_hz)
        self._stop = threading.Event()
        self._reset = threading.Event()
        self._thread: threading.Thread | None = None
        self._latest: Proposal | None = None
        self.errors = 0
        """Exceptions of the proposer; each one is a missing proposal."""

    def start(self) -> None:
        """Start proposing."""
        self._thread = threading.Thread(target=self._run, name=f"propose-{self.proposer.id}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait for the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def reset(self) -> None:
        """Reset the proposer before its next proposal and drop the newest one."""
        self._reset.set()
        self._latest = None

    @property
    def latest(self) -> Proposal | None:
        """The newest proposal, None before the first and after a reset."""
        return None if self._reset.is_set() else self._latest

    def _run(self) -> None:
        while not self._stop.is_set():
            self._ticker.wait()
            observation = self._observe()
            if observation is None:
                continue
            if self._reset.is_set():
                self.proposer.reset()
                self._latest = None
                self._reset.clear()
            try:
                action = self.proposer.propose(observation)
            except Exception:
                self.errors += 1
                log.exception("%s failed to propose (%d so far)", self.proposer.id, self.errors)
                continue
            self._publish(action, observation)

    def _publish(self, action: FloatArray | None, observation: Observation) -> None:
        if action is None:
            return
        now_ns = clock.now_ns()
        self._latest = Proposal(now_ns, frozen_array(action), (now_ns - observation.stamp_ns) / 1e9)
