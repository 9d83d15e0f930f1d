"""ROS 2 on a domain of its own, on this host only, with publishers in processes of their own."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from drivers.ros2.environment import prepare_environment

PUBLISHER = Path(__file__).with_name("publisher.py")


@pytest.fixture(autouse=True)
def own_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every context of this folder lives on this host and on a domain that other test processes do not use."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(20 + os.getpid() % 80))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    prepare_environment()


class Foreign:
    """A running publisher process."""

    def __init__(self, streams: list[dict[str, object]]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PUBLISHER), json.dumps(streams)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, word: str) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line == word, f"publisher said {line!r}, expected {word!r}"

    def end(self) -> None:
        try:
            self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


Publish = Callable[..., AbstractContextManager[Foreign]]


@pytest.fixture
def publish() -> Publish:
    """Start a process that publishes the given streams; it ends with the block."""

    @contextlib.contextmanager
    def start(*streams: dict[str, object]) -> Iterator[Foreign]:
        foreign = Foreign(list(streams))
        try:
            yield foreign
        finally:
            foreign.end()

    return start


@pytest.fixture
def poll() -> Callable[..., None]:
    """Wait until a condition holds; fail after a deadline."""

    def until(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, "the condition did not hold in time"
            time.sleep(0.01)

    return until
