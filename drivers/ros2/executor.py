"""One ROS context, node and executor thread per process, shared by all ROS 2 drivers and reference-counted.

A SingleThreadedExecutor in one thread: the multi-threaded one starves and the events executor hangs in rclpy 7.1.
The thread is always joined before anything is destroyed, also at interpreter exit, because a thread that still spins
then aborts the process.
"""

import atexit
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from drivers.errors import DeviceConfigError, DriverError
from drivers.ros2.environment import require_ros

log = logging.getLogger(__name__)

JOIN_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 5.0

T = TypeVar("T")

_lock = threading.Lock()
_shared: "RosRuntime | None" = None


class RosRuntime:
    """The running context, node and executor of this process; obtained by `acquire_runtime`."""

    def __init__(self, node_name: str | None = None) -> None:
        """Prepare; nothing is started. `node_name` is by default teleop_ and the process id."""
        self._node_name = node_name or f"teleop_{os.getpid()}"
        self.users = 0
        self.node: Any = None
        """The `rclpy.node.Node`, None unless started."""
        self._context: Any = None
        self._executor: Any = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    @property
    def alive(self) -> bool:
        """Whether callbacks are being executed."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Create the context and node and start the executor's thread.

        Raises:
            DriverError: there is no ROS 2, or its middleware does not start.
        """
        require_ros()
        import rclpy
        from rclpy._rclpy_pybind11 import RCLError
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor

        self._context = Context()
        try:
            rclpy.init(args=["--ros-args", "--disable-external-lib-logs"], context=self._context)  # no files in ~/.ros
            self.node = rclpy.create_node(
                self._node_name,
                context=self._context,
                use_global_arguments=False,
                enable_rosout=False,
                start_parameter_services=False,
            )
        except (RCLError, RuntimeError) as error:
            self.stop()
            raise DriverError(f"ROS 2 does not start: {' '.join(str(error).split())}") from error
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, name="ros2-executor", daemon=True)
        self._thread.start()

    def call(self, action: Callable[[], T]) -> T:
        """Run `action` in the executor's thread and return its result; errors of ROS are raised here.

        Subscriptions and publishers must be created and destroyed this way: done from another thread, the executor may
        meet a half-destroyed one and end.

        Raises:
            DriverError: the executor does not answer.
        """
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(action())
            except (RuntimeError, ValueError) as error:  # RCLError and InvalidHandle, and names that are not valid
                result.set_exception(error)

        if threading.current_thread() is self._thread or not self.alive:
            run()
        else:
            self.defer(run)
        try:
            return result.result(timeout=CALL_TIMEOUT_S)
        except TimeoutError as error:
            raise DriverError(f"the ROS 2 executor did not answer within {CALL_TIMEOUT_S:.0f} s") from error

    def defer(self, action: Callable[[], None]) -> None:
        """Run `action` in the executor's thread before it looks at its subscriptions again."""
        self._executor.create_task(action)

    def _spin(self) -> None:
        try:
            while not self._stopping.is_set():
                self._executor.spin_once()
        finally:
            if not self._stopping.is_set():
                log.error("the ROS 2 executor ended; no topic delivers any more")

    def stop(self) -> None:
        """Join the thread, then destroy node and context; works from any partial state."""
        self._stopping.set()
        if self._executor is not None:
            self._executor.create_task(lambda: None)  # spin_once returns only after work; waking it is not enough
        if self._thread is not None:
            self._thread.join(JOIN_TIMEOUT_S)
            if self._thread.is_alive():
                log.error("the ROS 2 executor did not stop within %.0f s", JOIN_TIMEOUT_S)
                return
        if self._executor is not None:
            self._executor.shutdown()
        if self.node is not None:
            self.node.destroy_node()
        if self._context is not None:
            self._context.try_shutdown()
            self._context.destroy()
        self._executor = self._context = self.node = self._thread = None


def acquire_runtime() -> RosRuntime:
    """Return the process's runtime, started by its first user. Every user must call `release_runtime` once.

    Raises:
        DriverError: there is no ROS 2, or its middleware does not start.
    """
    global _shared  # noqa: PLW0603 - one per process is the point
    with _lock:
        if _shared is None:
            runtime = RosRuntime()
            runtime.start()
            _shared = runtime
        _shared.users += 1
        return _shared


def release_runtime(runtime: RosRuntime) -> None:
    """Give `runtime` back; its last user stops it."""
    global _shared  # noqa: PLW0603
    with _lock:
        runtime.users -= 1
        if runtime.users > 0:
            return
        if runtime is _shared:
            _shared = None
        runtime.stop()


def check_topic_name(topic: str) -> None:
    """Check the form of a topic's name.

    Raises:
        DeviceConfigError: ROS does not allow it.
    """
    require_ros()
    from rclpy.exceptions import InvalidTopicNameException
    from rclpy.expand_topic_name import expand_topic_name
    from rclpy.validate_full_topic_name import validate_full_topic_name

    try:
        validate_full_topic_name(expand_topic_name(topic, "node", "/"))
    except (InvalidTopicNameException, ValueError) as error:
        reason = " ".join(str(error).partition(", at /")[0].split()).rpartition("topic name ")[2].partition(":")[0]
        raise DeviceConfigError(f"{topic!r} is not a valid topic name: it {reason}") from error


def _stop_at_exit() -> None:
    """A process that ends without disconnecting its drivers must not abort."""
    global _shared
    with _lock:
        runtime, _shared = _shared, None
    if runtime is not None:
        runtime.stop()


atexit.register(_stop_at_exit)
