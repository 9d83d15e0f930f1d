"""What the servos of an arm say of themselves, told once and kept while it lasts."""

import logging
from collections.abc import Mapping

from drivers.servo.bus import BlockRead
from drivers.servo.codec import Condition
from drivers.servo.group import ServoGroup

log = logging.getLogger(__name__)


class Ailments:
    """What ails each joint, by its latest reply."""

    def __init__(self, where: str, servos: ServoGroup, joint_of: Mapping[int, str]) -> None:
        """Take the arm's words for itself, its servos and their joints; no I/O."""
        self.words: Mapping[str, str] = {}
        """Joint -> its ailments in words."""
        self._where = where
        self._servos = servos
        self._joint_of = joint_of
        self._conditions: dict[str, Condition] = {}

    def note(self, block: BlockRead) -> None:
        """Take the newest replies; what is new is looked up and told."""
        known, self._conditions = self._conditions, {}
        words: dict[str, str] = {}
        for servo_id, reply in block.replies.items():
            if reply.data is None or not reply.error:
                continue
            joint = self._joint_of[servo_id]
            self._conditions[joint] = reply.error
            if known.get(joint) == reply.error:
                words[joint] = self.words[joint]
            else:
                words[joint] = self._servos.ailment(servo_id, reply.error)
                log.warning("%s: %s reports %s", self._where, joint, words[joint])
        self.words = words
