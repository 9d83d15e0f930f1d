"""The arm that acts, as the control loop holds it: every command passes the limits here and nowhere else."""

from typing import Protocol

import numpy as np

from drivers.polling import PollingReader
from drivers.samples import FloatArray, JointCommand, JointState, frozen_array
from teleop_app.station.limits import Clamp, LimitedCommand, Limits, hold, limit


class CommandPort(Protocol):
    """The verb of an arm that the loop needs."""

    def command(self, command: JointCommand) -> JointCommand:
        """Send; return what was really sent."""
        ...


class Follower:
    """The arm that acts: its port, its newest state, its limits, and the last command."""

    def __init__(self, port: CommandPort, reader: PollingReader[JointState], limits: Limits) -> None:
        """Nothing is sent until the first `command`."""
        self.port, self.reader, self.limits = port, reader, limits
        self.last: LimitedCommand | None = None

    def command(self, target: FloatArray | Clamp, measured: FloatArray, period_s: float, now_ns: int) -> LimitedCommand:
        """Send `target` within limits [rad], shape (n_joints,), or repeat the last command and say why."""
        last = self.last or LimitedCommand(frozen_array(measured), frozen_array(np.zeros_like(measured)), Clamp.NONE)
        allowed = (
            hold(last, target) if isinstance(target, Clamp) else limit(target, last, measured, self.limits, period_s)
        )
        sent = self.port.command(JointCommand(now_ns, allowed.position))
        self.last = LimitedCommand(sent.position, allowed.velocity, allowed.clamps)
        return self.last
