"""Turns what changed between two statuses into sentences of the event log."""

import re

from teleop_app.console.inbox import LinkState
from teleop_app.console.panels.event_log import EventLog
from teleop_app.console.panels.fault_bar import sentences
from teleop_app.console.situation import Situation
from teleop_app.console.stream_health import Level

_NUMBERS = re.compile(r"\d+(\.\d+)?")
"""A fault whose age grows is one fault."""


class Chronicle:
    """Remembers the last situation."""

    def __init__(self, log: EventLog) -> None:
        """Write into `log`."""
        self._log = log
        self._state = LinkState.SEARCHING
        self._word, self._recording, self._last_episode = "", False, ""
        self._faults: set[str] = set()

    def note(self, situation: Situation) -> bool:
        """Say what changed; returns whether the list of episodes may have."""
        self._note_link(situation)
        status = situation.status
        if status is None or not situation.live:
            return False
        if situation.look.word != self._word:
            self._word = situation.look.word
            self._log.say(f"{self._word}: {situation.look.sentence}.")
        faults = {_NUMBERS.sub("#", fault): fault for fault in sentences(situation)}
        for kind in faults.keys() - self._faults:
            self._log.say(faults[kind], Level.RED)
        self._faults = set(faults)
        before = (self._recording, self._last_episode)
        self._recording, self._last_episode = status.recording, status.last_episode
        if status.last_episode and status.last_episode != before[1]:
            self._log.say(status.last_episode)
        return before != (self._recording, self._last_episode)

    def _note_link(self, situation: Situation) -> None:
        state = situation.link.state
        if state is self._state:
            return
        self._state = state
        if state is LinkState.LIVE:
            self._log.say(f"Connected to the station at {situation.link.endpoint}.")
        elif sentence := situation.link.sentence():
            self._log.say(sentence, Level.RED)
