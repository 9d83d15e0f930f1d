"""A topic that loses nothing silently: a bounded queue, QoS that adapts to the publishers, and counts of everything.

The executor's thread only stamps and queues; conversion happens in the reader's thread. Every `WATCH_S` the ROS graph
is looked at, so that a publisher that appears later with another QoS is answered, and one with another type is named.
"""

import logging
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from drivers import clock
from drivers.errors import DriverError
from drivers.ros2.executor import RosRuntime, acquire_runtime, check_topic_name, release_runtime
from drivers.ros2.qos import Publisher, describe, qos_problem, type_problem, wants_best_effort
from drivers.ros2.stamps import AnchorKeeper

log = logging.getLogger(__name__)

WATCH_S = 0.2
"""How often the publishers are looked at [s]; each look takes about 0.1 ms."""
LOOKS_UNNAMED = 5
"""Looks for which a problem waits for the publisher's name, which the graph learns a little after the publisher."""
UNNAMED = "_NODE_NAME_UNKNOWN_"
"""What rmw says until then."""
LONGEST_TRANSIT_NS = 60_000_000_000
"""A middleware receive stamp older than this, or in the future, is a step of the wall clock and is not used [ns]."""


@dataclass(frozen=True, slots=True)
class Received:
    """One message as it arrived."""

    message: Any
    received_ns: int
    """When the middleware had it, monotonic clock [ns]."""
    anchor: clock.ClockAnchor
    """Ties the two clocks of this host together, as of its arrival."""

    @property
    def header_ns(self) -> int:
        """The header's stamp, UTC by the publisher's clock; 0 means none [ns]."""
        stamp = self.message.header.stamp
        return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


class TopicSubscription:
    """Subscribes to one topic; `get` is called from one thread, the rest from any."""

    def __init__(self, topic: str, message_type: str, depth: int) -> None:
        """Prepare; no I/O.

        Args:
            topic: Topic name.
            message_type: Like sensor_msgs/msg/JointState.
            depth: Messages kept by the middleware, and again by the queue, before the oldest is dropped and counted.
        """
        self.topic, self.message_type, self._depth = topic, message_type, depth
        self._runtime: RosRuntime | None = None
        self._node: Any = None
        self._class: Any = None
        self._timer: Any = None
        self._current: Any = None
        self._retiring: Any = None
        self._overlap: set[tuple[int, int]] = set()
        self._queue: deque[Received] = deque()
        self._filled = threading.Condition()
        self._publishers: tuple[Publisher, ...] = ()
        self._ever: dict[str, None] = {}
        self._best_effort = False
        self._looks_unnamed = 0
        self._anchors = AnchorKeeper()
        self._mismatch: tuple[str, bool] | None = None
        self._counts = dict.fromkeys(("messages", "overflowed", "lost_by_middleware", "resubscriptions"), 0)
        self.problem: str | None = None
        """Why nothing can arrive, in one sentence; None while nothing is known to be wrong."""

    def open(self, message_class: type) -> RosRuntime:
        """Subscribe and begin to watch the graph; return the runtime, for publishers beside this subscription.

        Raises:
            DriverError: no ROS 2.
            DeviceConfigError: the topic's name is not valid.
        """
        check_topic_name(self.topic)
        self._runtime = acquire_runtime()
        self._node, self._class = self._runtime.node, message_class
        self._runtime.call(self._begin)
        return self._runtime

    def close(self) -> None:
        """Unsubscribe; idempotent, from any partial state. Messages not read yet are gone."""
        runtime, self._runtime = self._runtime, None
        if runtime is None:
            return
        runtime.call(self._end)
        release_runtime(runtime)
        self._node = None
        self._queue.clear()

    def get(self, timeout_s: float) -> Received | None:
        """Return the oldest queued message; None after `timeout_s` without one.

        Raises:
            DriverError: nothing is queued, and nothing can arrive: wrong type, no compatible QoS, not open.
        """
        with self._filled:
            if self._filled.wait_for(lambda: len(self._queue) > 0, timeout=max(0.0, timeout_s)):
                return self._queue.popleft()
        if self._runtime is None:
            raise DriverError(f"topic {self.topic} is not subscribed to: connect first")
        if not self._runtime.alive:
            raise DriverError(f"topic {self.topic} delivers nothing: the ROS 2 executor of this process has ended")
        if self.problem is not None:
            raise DriverError(self.problem)
        return None

    @property
    def lost(self) -> int:
        """Messages known to be lost: dropped by the full queue, or reported lost by the middleware."""
        return self._counts["overflowed"] + self._counts["lost_by_middleware"]

    def seen(self) -> str:
        """Describe the publishers on the topic, for a sentence."""
        return describe(self._publishers)

    def facts(self) -> Mapping[str, object]:
        """Topic, QoS, all publishers ever seen, and counts, JSON-ready."""
        return {
            "topic": self.topic,
            "type": self.message_type,
            "subscribed": self._reliability,
            "publishers": list(self._ever),
            "problem": self.problem,
            **self._counts,
        }

    def _begin(self) -> None:
        self._publishers = self._look()
        self._best_effort = wants_best_effort(self._publishers, self.message_type)
        self._current = self._subscribe()
        self._timer = self._node.create_timer(WATCH_S, self._schedule_watch)

    def _end(self) -> None:
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        for subscription in (self._current, self._retiring):
            if subscription is not None:
                self._node.destroy_subscription(subscription)
        self._timer = self._current = self._retiring = None

    @property
    def _reliability(self) -> str:
        return "best effort" if self._best_effort else "reliable"

    def _subscribe(self) -> Any:
        from rclpy.event_handler import SubscriptionEventCallbacks
        from rclpy.qos import QoSProfile, ReliabilityPolicy

        reliability = ReliabilityPolicy.BEST_EFFORT if self._best_effort else ReliabilityPolicy.RELIABLE
        events = SubscriptionEventCallbacks(
            incompatible_qos=partial(self._on_mismatch, self._best_effort),
            message_lost=self._on_lost,
            use_default_callbacks=False,
        )
        qos = QoSProfile(depth=self._depth, reliability=reliability)
        return self._node.create_subscription(self._class, self.topic, self._on_message, qos, event_callbacks=events)

    def _on_message(self, message: Any, info: Mapping[str, int]) -> None:
        now_ns, anchor = clock.now_ns(), self._anchors.read()
        if self._retiring is not None and self._is_repeated(info):
            return
        received_ns = clock.utc_to_monotonic_ns(info["received_timestamp"], anchor)
        if not 0 <= now_ns - received_ns < LONGEST_TRANSIT_NS:
            received_ns = now_ns
        with self._filled:
            self._counts["messages"] += 1
            if len(self._queue) >= self._depth:
                self._queue.popleft()
                self._counts["overflowed"] += 1
            self._queue.append(Received(message, received_ns, anchor))
            self._filled.notify()

    def _is_repeated(self, info: Mapping[str, int]) -> bool:
        """While the old and the new subscription overlap, both deliver; the writer's stamp and number tell."""
        key = (info["source_timestamp"], info["publication_sequence_number"])
        repeated = key in self._overlap
        self._overlap.add(key)
        return repeated

    def _on_lost(self, info: Any) -> None:
        self._counts["lost_by_middleware"] += info.total_count_change

    def _on_mismatch(self, best_effort: bool, info: Any) -> None:  # noqa: FBT001 - bound when subscribing
        self._mismatch = (str(info.last_policy_kind).rpartition(".")[2].lower(), best_effort)

    def _look(self) -> tuple[Publisher, ...]:
        found = []
        for info in self._node.get_publishers_info_by_topic(self.topic):
            named = info.node_name != UNNAMED
            node = f"{info.node_namespace.rstrip('/')}/{info.node_name}" if named else ""
            qos = info.qos_profile
            found.append(Publisher(node, info.topic_type, qos.reliability.name.lower(), qos.durability.name.lower()))
        self._ever.update((str(publisher), None) for publisher in found if publisher.node)
        return tuple(found)

    def _schedule_watch(self) -> None:
        """Between two waits of the executor, where a subscription may be destroyed."""
        if self._runtime is not None:
            self._runtime.defer(self._watch)

    def _watch(self) -> None:
        """Answer what the graph shows now."""
        if self._current is None:
            return
        self._retire()
        self._publishers = self._look()
        self._adapt(best_effort=wants_best_effort(self._publishers, self.message_type))
        problem = type_problem(self.topic, self.message_type, self._publishers) or self._mismatch_problem()
        if problem is not None and self._looks_unnamed < LOOKS_UNNAMED and any(not p.node for p in self._publishers):
            self._looks_unnamed += 1
            return
        self.problem, self._looks_unnamed = problem, 0

    def _retire(self) -> None:
        """End the subscription that was replaced one look ago, after taking what it still holds."""
        if self._retiring is None:
            return
        retiring = self._retiring
        with retiring.handle:
            while (taken := retiring.handle.take_message(retiring.msg_type, False)) is not None:
                self._on_message(*taken)
        self._retiring = None
        self._node.destroy_subscription(retiring)
        self._overlap.clear()

    def _adapt(self, *, best_effort: bool) -> None:
        if best_effort == self._best_effort or not any(p.type == self.message_type for p in self._publishers):
            return
        self._best_effort, self._mismatch = best_effort, None
        log.info("topic %s: %s; subscribing again as %s", self.topic, self.seen(), self._reliability)
        self._retiring, self._current = self._current, self._subscribe()
        self._counts["resubscriptions"] += 1

    def _mismatch_problem(self) -> str | None:
        """Name a mismatch that the present subscription met: what a changed reliability did not resolve."""
        if self._mismatch is None or self._mismatch[1] != self._best_effort or not self._publishers:
            return None
        return qos_problem(self.topic, self._mismatch[0], self._reliability, self._publishers)
