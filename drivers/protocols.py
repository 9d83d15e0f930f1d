"""What a device can do, as small Protocols. A driver implements those that fit; nothing inherits from them.

Rules for every driver: the constructor does no I/O; `connect` raises one `DriverError` with a clear sentence;
`disconnect` works from any partial state, stops motion first and never raises for a missing peer; `read` is called
from one thread at a time and `command` may be called from another.
"""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from drivers.samples import FloatArray, Image, JointCommand, JointState, TactileSample


class Device(Protocol):
    """Anything that can be connected."""

    @property
    def name(self) -> str:
        """The device's name in the station file."""
        ...

    def connect(self) -> None:
        """Open the device and verify that it is what the configuration says; at most about 10 s."""
        ...

    def disconnect(self) -> None:
        """Stop motion, then release everything."""
        ...

    def facts(self) -> Mapping[str, object]:
        """Model, serial, firmware and the like, JSON-ready, for the episode's provenance."""
        ...

    def dropped(self) -> int:
        """Samples that the driver knows were lost before `read` since `connect` (queue overflow, sequence gaps)."""
        ...


class JointReader(Device, Protocol):
    """A device with joints that are measured: a follower, a leader, or a foreign controller's command."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names in the order of every array."""
        ...

    def read(self, timeout_s: float) -> JointState | None:
        """Return the next sample not yet returned, each once and in order; None after `timeout_s` without one."""
        ...


class Arm(JointReader, Protocol):
    """An arm that accepts commands. When commands stop, it holds."""

    def command(self, command: JointCommand) -> JointCommand:
        """Send; return what was really sent. Raises CommandRejectedError and sends nothing if it is not valid."""
        ...

    def hold(self) -> None:
        """Stop motion where the arm is and keep it there."""
        ...


class Camera(Device, Protocol):
    """A camera."""

    def read(self, timeout_s: float) -> Image | None:
        """Return the next frame not yet returned, in order; None after `timeout_s` without one."""
        ...


class TactileSensor(Device, Protocol):
    """A tactile pad."""

    def read(self, timeout_s: float) -> TactileSample | None:
        """Return the next sample not yet returned, in order; None after `timeout_s` without one."""
        ...


@runtime_checkable
class Scene(Protocol):
    """A workcell that can be put back and inspected: the simulation, or a scripted fixture."""

    def reset_scene(self, seed: int) -> None:
        """Put arm and objects at a start that depends only on `seed`."""
        ...

    def object_positions(self) -> Mapping[str, FloatArray]:
        """Centre of each object in the arm's base frame [m], shape (3,)."""
        ...
