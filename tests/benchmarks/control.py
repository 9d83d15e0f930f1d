"""How punctual the control loop is while everything else is going on: `tests/run --benchmark control`.

The baseline is a bare ticker at the same rate and priority in the same process, just before.
"""

import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivers import clock
from recorder.collection import find
from recorder.reader import open_episode
from recorder.segments import CollectionMode
from recorder.streams import StreamRole
from teleop_app.station.automation import Automation, Plan
from teleop_app.station.rate import Ticker, take_realtime_priority
from teleop_app.station.server import StationServer
from teleop_app.station.station import Station
from teleop_app.station.station_file import load_station

SIM = Path(__file__).parents[2] / "launch" / "config" / "sim.yaml"
RATE_HZ = 200.0
BASELINE_S = 10.0
EPISODES = 4


def bare_ticker() -> NDArray[np.float64]:
    """Lateness of a loop that does nothing [ms]."""
    late: list[int] = []

    def run() -> None:
        take_realtime_priority()
        ticker = Ticker(RATE_HZ)
        for _ in range(round(BASELINE_S * RATE_HZ)):
            deadline_ns, began_ns = ticker.wait()
            late.append(began_ns - deadline_ns)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return np.array(late) / 1e6


def recording_loop(folder: Path) -> tuple[NDArray[np.float64], int, int]:
    """Lateness of the station's loop while it records policy attempts [ms], ticks missed, and ticks."""
    config = load_station(SIM)
    episodes = config.episodes.model_copy(update={"modes": (CollectionMode.INTERVENTION,)})
    station = Station(config.model_copy(update={"episodes": episodes}), folder)
    server = StationServer(station, port=0)
    try:
        station.connect()
        station.start()
        server.start()
        Automation(station, Plan(EPISODES, 20.0, "benchmark")).run()
    finally:
        server.stop()
        station.stop()
    late, missed, ticks = [], 0, 0
    for path in find(folder):
        (control,) = open_episode(path).by_role(StreamRole.CONTROL)
        deadlines = control.field("deadline")  # type: ignore[union-attr]
        late.append((control.time - deadlines) / 1e6)
        missed += int(np.rint(np.diff(deadlines) * RATE_HZ / 1e9 - 1).sum())
        ticks += len(deadlines)
    return np.concatenate(late), missed, ticks


def run() -> dict[str, Any]:
    """Measure and judge."""
    load_before = os.getloadavg()[0]
    started_ns = clock.now_ns()
    idle = bare_ticker()
    with tempfile.TemporaryDirectory() as folder:
        busy, missed, ticks = recording_loop(Path(folder))
    rows: list[dict[str, Any]] = []
    for name, percentile in (("p50", 50), ("p99", 99), ("p99.9", 99.9), ("max", 100)):
        value, baseline = float(np.percentile(busy, percentile)), float(np.percentile(idle, percentile))
        limit = baseline + 1.0 if name == "p99.9" else None
        rows.append(
            {
                "name": f"tick lateness {name}",
                "value": round(value, 3),
                "unit": "ms",
                "baseline": round(baseline, 3),
                "limit": None if limit is None else round(limit, 3),
                "ok": limit is None or value <= limit,
            }
        )
    rows.append({"name": "ticks missed", "value": missed, "unit": "ticks", "limit": 0, "ok": missed == 0})
    rows.append({"name": "ticks", "value": ticks, "unit": "ticks", "limit": None, "ok": True})
    return {
        "name": "control",
        "rows": rows,
        "baseline": f"a bare ticker at {RATE_HZ:.0f} Hz for {BASELINE_S:.0f} s, same process and priority",
        "load": {"average_before": load_before, "cores": os.cpu_count()},
        "seconds": round((clock.now_ns() - started_ns) / 1e9, 1),
    }


if __name__ == "__main__":
    result = run()
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    sys.exit(not all(row["ok"] for row in result["rows"]))
