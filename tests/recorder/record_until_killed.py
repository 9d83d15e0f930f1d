"""Records an episode as fast as it can and reports each append that returned, until somebody kills the process.

Run as `python record_until_killed.py COLLECTION`; the first line of output is the episode's path.
"""

import itertools
import os
import sys
from pathlib import Path

from recorder import committer
from recorder.episode import Event
from recorder.episode_writer import EpisodeWriter
from recorder.writer import open_stream
from tests.recorder.samples import SPECS, new_episode, stamp_ns, values


def main(collection: Path) -> None:
    committer.shared = committer.Committer(period_s=0.005)  # so that kills meet commits, too
    writer = EpisodeWriter.create(collection, new_episode())
    sys.stdout.write(f"{writer.path}\n")
    sys.stdout.flush()
    streams = {spec.name: (spec, open_stream(writer.path, spec)) for spec in SPECS}
    for row in itertools.count():
        for name, (spec, stream) in streams.items():
            time_ns = stamp_ns(row, spec.rate_hz)
            stream.append(time_ns, time_ns + 5, values(name, row))
            os.write(1, f"{name}\n".encode())
        if row % 10 == 0:
            writer.event(Event(time_ns=stamp_ns(row), kind="note", detail={"row": row}))
            os.write(1, b"event\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
