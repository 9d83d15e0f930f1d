"""The world as a process of its own: `python -m drivers.sim.world_process`, started and ended by the arm.

It says "ready", or why not, as one line on its standard output, then steps the physics on absolute deadlines of the
monotonic clock until it is asked to terminate or its parent is gone. Less than 50 ms of lateness is caught up at once;
more is skipped, counted and published. Each state carries the clock's reading when it was ready.
"""

import argparse
import logging
import os
import signal
import sys
from types import FrameType

import numpy as np

from drivers import clock
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot
from drivers.sim import world_state as ws

log = logging.getLogger(__name__)

CATCH_UP_NS = 50_000_000
READY = "ready"


class WorldProcess:
    """Owns the physics and the shared memory, and runs them."""

    def __init__(self, run_id: str, rate_hz: float, parent: int) -> None:
        """Prepare to publish at `rate_hz` [Hz] for as long as process `parent` is this one's parent."""
        self._run_id, self._parent = run_id, parent
        self._period_ns = round(1e9 / rate_hz)
        self._stopping = False
        self._resets = self._commands = 0
        self._missed_ns = 0
        self._slots: list[LatestSlot] = []

    def stop(self, number: int, frame: FrameType | None) -> None:
        """Ask the loop to end; a signal handler."""
        del number, frame
        self._stopping = True

    def open(self) -> None:
        """Build the physics and publish the first state.

        Raises:
            DriverError: MuJoCo is not installed, or the shared memory is not there or taken.
        """
        try:
            from drivers.sim.physics import Physics
        except ImportError as error:
            raise DriverError(f"the simulation needs MuJoCo: pip install 'teleop-app[sim]' ({error})") from error
        self._physics = Physics(self._period_ns / 1e9)
        self._command = self._keep(LatestSlot.attach(ws.command_slot(self._run_id)))
        self._reset = self._keep(LatestSlot.attach(ws.reset_slot(self._run_id)))
        self._state = self._keep(LatestSlot.create(ws.state_slot(self._run_id), ws.STATE_BYTES, ws.HISTORY))
        self._publish()

    def run(self) -> None:
        """Simulate until told to stop or orphaned."""
        deadline_ns = clock.now_ns()
        while not self._stopping and os.getppid() == self._parent:
            deadline_ns += self._period_ns
            late_ns = clock.now_ns() - deadline_ns
            if late_ns > CATCH_UP_NS:
                self._skip(late_ns)
                deadline_ns += late_ns
            clock.sleep_until_ns(deadline_ns)
            self._obey()
            self._physics.advance()
            self._publish()

    def close(self) -> None:
        """Release the shared memory."""
        for slot in self._slots:
            slot.close()
        if self._slots:
            ws.remove_slots(self._run_id)

    def _keep(self, slot: LatestSlot) -> LatestSlot:
        self._slots.append(slot)
        return slot

    def _obey(self) -> None:
        """Carry out the newest reset, then the newest command given since."""
        reset = self._reset.read(self._resets)
        if reset is not None:
            self._resets = reset.sequence
            self._commands = self._command.newest
            self._physics.reset(int.from_bytes(reset.payload, "little"))
        command = self._command.read(self._commands)
        if command is not None:
            self._commands = command.sequence
            self._physics.command(np.frombuffer(command.payload))

    def _skip(self, late_ns: int) -> None:
        """Count time that is not simulated; say so the first time, the published count tells the rest."""
        if not self._missed_ns:
            log.warning("the simulated world skipped %.0f ms: this machine is too busy", late_ns / 1e6)
        self._missed_ns += late_ns

    def _publish(self) -> None:
        payload = ws.pack(self._physics.snapshot(), self._missed_ns / 1e9, self._period_ns / 1e9)
        self._state.write(clock.now_ns(), payload, tag=self._resets)


def main(arguments: list[str]) -> int:
    """Run a world; return the exit code."""
    parser = argparse.ArgumentParser(description="Simulated workcell; started by the sim_arm driver.")
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--rate-hz", type=float, required=True)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args(arguments)
    world = WorldProcess(options.run_id, options.rate_hz, options.parent)
    signal.signal(signal.SIGTERM, world.stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        world.open()
        _tell(READY)
        world.run()
    except DriverError as error:
        _tell(str(error))
        return 1
    finally:
        world.close()
    return 0


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
