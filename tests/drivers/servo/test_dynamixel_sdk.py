"""The vendor's SDK, in an environment of its own, as an independent judge of emulator and control tables."""

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from drivers.emulators.dynamixel import DynamixelEmulator
from drivers.emulators.pty import PtyServer
from drivers.servo.dynamixel_table import X_SERIES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

SDK = "dynamixel-sdk==4.1.0"
NEWER = {"startup_configuration", "backup_ready"}
"""In the manual, not in the tables of this SDK."""
SESSION = Path(__file__).with_name("dynamixel_sdk_session.py")


@pytest.fixture(scope="module")
def sdk_python(tmp_path_factory) -> Path:
    """The interpreter of an environment with the SDK and the serial library of ours."""
    place = tmp_path_factory.mktemp("dynamixel_sdk")
    venv.create(place, with_pip=False)
    site = next(place.glob("lib/python*/site-packages"))
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(site), SDK, "pyserial"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    if result.returncode:
        pytest.skip(f"NOT JUDGED BY THE VENDOR: {SDK} cannot be had: {result.stderr.strip()[-200:]}")
    return place / "bin" / "python"


@pytest.fixture
def emulator():
    emulator = DynamixelEmulator((1, 2, 3))
    for servo, position in zip(emulator.servos, (100, 200, 4000), strict=True):
        servo.hand = lambda _, position=position: float(position)
    third = emulator.servo(3)
    third.set("mode", 4)
    third.hand = lambda _: -1.0
    return emulator


def test_the_sdk_and_the_emulator_understand_each_other(sdk_python, emulator):
    server = PtyServer(emulator)
    server.start()
    try:
        command = [str(sdk_python), str(SESSION), server.path]
        result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    finally:
        server.stop()
    assert result.returncode == 0, result.stderr
    got = json.loads(result.stdout.splitlines()[-1])
    assert got["ping"] == [1200, 0, 0]
    assert got["nobody"] != 0
    assert got["broadcast"] == [1, 2, 3]
    assert got["read"] == [200, 0, 0]
    assert bytes(got["stuffed"][0][-4:]) == b"\xff\xff\xff\xff"
    assert (got["stuffed"][1:], got["write"], got["reg_write"][-2:]) == ([0, 0], [0, 0], [0, 0])
    assert got["refused"] == [0, 7]
    assert got["sync_write"] == 0
    assert [servo.get("led") for servo in emulator.servos] == [1, 1, 0]
    assert [servo.get("goal_position") for servo in emulator.servos[:2]] == [1001, 1002]
    assert got["sync_read"] == got["fast_sync_read"] == [0, 100, 200, 2**32 - 1]
    assert got["bulk_read"] == [0, 1001, 1]
    assert got["reboot"] == [0, 0]


@pytest.mark.parametrize("model", X_SERIES, ids=lambda model: model.name)
def test_every_register_is_where_the_vendor_has_it(sdk_python, model):
    (table,) = sdk_python.parents[1].rglob(f"control_table/{model.name.replace('-', '_')}.model")
    published = {
        (int(address), int(size)): name
        for address, size, name in re.findall(r"^(\d+)\t(\d+)\t([^\t\n]+)", table.read_text(), re.MULTILINE)
    }
    absent = {name for name, r in model.registers.items() if (r.address, r.size) not in published}
    assert absent <= NEWER
    where = {name: published[r.address, r.size] for name, r in model.registers.items() if name not in absent}
    for ours, theirs in {
        "present_position": "Present Position",
        "present_velocity": "Present Velocity",
        "goal_position": "Goal Position",
        "torque_enable": "Torque Enable",
        "homing_offset": "Homing Offset",
        "mode": "Operating Mode",
        "status": "Hardware Error Status",
        "bus_watchdog": "Bus Watchdog",
    }.items():
        assert where[ours] == theirs
