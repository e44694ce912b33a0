"""The time that earlier attempts at a cell took, if they were killed or stopped.

While a cell is computed, a file beside it says every few seconds how long that has taken so far. A
process that is killed leaves the file, and whoever computes the cell next adds to it; so the record
of a model that was trained in three nights says what three nights took, up to the last note of
each. An attempt that failed by itself is not counted.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event, Thread

from sfumato.core.errors import StorageFailed
from sfumato.core.files import write_whole

EVERY = 15.0  # seconds between two notes


@dataclass(frozen=True)
class Spent:
    """Time on the clock and of the processor, in seconds."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds)

    @classmethod
    def read(cls, path: Path) -> Spent:
        """What a note says; nothing if there is none, or none that can be read."""
        try:
            content = json.loads(path.read_bytes())
            found = cls(float(content["seconds"]), float(content["cpu_seconds"]))
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return cls()
        fine = all(math.isfinite(one) and one >= 0 for one in asdict(found).values())
        return found if fine else cls()


@contextmanager
def note_time(path: Path, every: float = EVERY) -> Iterator[Spent]:
    """Note the time of a block while it runs, and yield what attempts before it took.

    The file is left behind by a block that was stopped, and removed by whoever is done with it.
    """
    earlier = Spent.read(path)
    began, worked = time.perf_counter(), time.process_time()

    def note() -> None:
        now = Spent(time.perf_counter() - began, time.process_time() - worked)
        try:
            write_whole(path, json.dumps(asdict(earlier + now)).encode())
        except (OSError, StorageFailed):
            return  # a full disk stops the cell itself, if it has to write

    ended = Event()

    def keep_noting() -> None:
        while not ended.wait(every):
            note()

    thread = Thread(target=keep_noting, daemon=True)
    thread.start()
    stopped = True
    try:
        yield earlier
        stopped = False
    finally:
        ended.set()
        thread.join()
        if stopped:
            note()
