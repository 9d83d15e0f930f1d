"""What the world publishes to its clients: names in shared memory, the layout of a state, and waiting for both."""

import math
from dataclasses import dataclass

import numpy as np

from drivers import clock
from drivers.errors import DriverError
from drivers.latest_slot import LatestSlot, SlotValue, remove
from drivers.samples import FloatArray
from drivers.sim import workcell as w

HISTORY = 512
"""States held in shared memory: a reader may fall this far behind before it loses any."""
START_LIMIT_S = 10.0
_POLL_NS = 20_000_000
_JOINTS = len(w.JOINT_NAMES)
_TOUCH_SHAPE = (len(w.PADS), w.TOUCH_AXES, w.TOUCH_ROWS, w.TOUCH_COLUMNS)
_SCENE = _JOINTS + 7
_TOUCH = 3 * _JOINTS + _SCENE
_TIMING = _TOUCH + math.prod(_TOUCH_SHAPE)
STATE_BYTES = (_TIMING + 2) * 8
COMMAND_BYTES = _JOINTS * 8
RESET_BYTES = 8


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that clients may want of one instant."""

    position: FloatArray
    """Joint angles [rad], shape (6,)."""
    velocity: FloatArray
    """[rad/s], shape (6,)."""
    effort: FloatArray
    """Actuator torques [N m], shape (6,)."""
    scene: FloatArray
    """MuJoCo's generalised positions: the joints, then the block's position and quaternion, shape (13,)."""
    touch: FloatArray
    """[N], shape (pads, axes, rows, columns)."""

    def objects(self) -> dict[str, FloatArray]:
        """Return object name -> centre in the base frame [m], shape (3,)."""
        return {"block": self.scene[_JOINTS : _JOINTS + 3], "bin": np.array([*w.BIN_CENTRE, 0.0])}


@dataclass(frozen=True, slots=True)
class WorldState:
    """One published state."""

    sequence: int
    """Counts states without gaps, from 1."""
    stamp_ns: int
    """When the world had simulated it, monotonic clock [ns]."""
    resets: int
    """Resets carried out so far."""
    snapshot: Snapshot
    missed_s: float
    """Time that the world could not simulate and skipped since its start [s]."""
    period_s: float
    """Between states [s]."""


def state_slot(run_id: str) -> str:
    """Name of the ring of states."""
    return f"{run_id}-sim-state"


def command_slot(run_id: str) -> str:
    """Name of the newest command."""
    return f"{run_id}-sim-command"


def reset_slot(run_id: str) -> str:
    """Name of the newest reset."""
    return f"{run_id}-sim-reset"


def remove_slots(run_id: str) -> None:
    """Remove everything that a world and its arm keep in shared memory."""
    for slot in (state_slot(run_id), command_slot(run_id), reset_slot(run_id)):
        remove(slot)


def pack(snapshot: Snapshot, missed_s: float, period_s: float) -> bytes:
    """Lay a state out as float64: position, velocity, effort, scene, touch, missed time, period."""
    parts = (snapshot.position, snapshot.velocity, snapshot.effort, snapshot.scene, snapshot.touch.ravel())
    return np.concatenate((*parts, (missed_s, period_s))).tobytes()


def unpack(value: SlotValue) -> WorldState:
    """Read what `pack` wrote; arrays are read-only views."""
    flat = np.frombuffer(value.payload)
    position, velocity, effort = (flat[part * _JOINTS : (part + 1) * _JOINTS] for part in range(3))
    scene, touch = flat[3 * _JOINTS : _TOUCH], flat[_TOUCH:_TIMING].reshape(_TOUCH_SHAPE)
    missed_s, period_s = (float(number) for number in flat[_TIMING:])
    snapshot = Snapshot(position, velocity, effort, scene, touch)
    return WorldState(value.sequence, value.stamp_ns, value.tag, snapshot, missed_s, period_s)


def attach_to_world(device: str, run_id: str, limit_s: float = START_LIMIT_S) -> LatestSlot:
    """Wait until the world of `run_id` publishes, and attach to its states.

    Raises:
        DriverError: it does not within `limit_s` [s].
    """
    deadline_ns = clock.now_ns() + round(limit_s * 1e9)
    while True:
        slot = _living(state_slot(run_id))
        if slot is not None:
            return slot
        if clock.now_ns() >= deadline_ns:
            raise DriverError(
                f"{device}: no simulated world after {limit_s:.0f} s; connect the sim_arm of the same station first"
            )
        clock.sleep_until_ns(clock.now_ns() + _POLL_NS)


def _living(name: str) -> LatestSlot | None:
    """Attach to `name` if its writer lives and has written, else return None."""
    try:
        slot = LatestSlot.attach(name)
    except DriverError:
        return None
    if slot.has_writer() and slot.newest:
        return slot
    slot.close()
    return None


def wait_for_state(slot: LatestSlot, after: int, due_ns: int, timeout_s: float) -> WorldState | None:
    """Return the oldest state held with a number above `after`; None after `timeout_s` without one.

    Sleeps until `due_ns`, when the state is expected, then looks every 0.3 ms.
    """
    deadline_ns = clock.now_ns() + round(timeout_s * 1e9)
    while True:
        value = slot.read_next(after)
        if value is not None:
            return unpack(value)
        now_ns = clock.now_ns()
        if now_ns >= deadline_ns:
            return None
        clock.sleep_until_ns(min(deadline_ns, max(due_ns, now_ns + 300_000)))


def require_world(device: str, slot: LatestSlot) -> None:
    """Raise DriverError if the world behind `slot` has ended."""
    if not slot.has_writer():
        raise DriverError(f"{device}: the simulated world has ended; connect the sim_arm, then this device, again")
