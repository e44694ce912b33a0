"""What computing a cell took: time, processor time, and memory at its highest."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Cost:
    """Filled in when the block ends."""

    seconds = 0.0
    cpu_seconds = 0.0
    peak_memory: int | None = None

    def as_dict(self) -> dict[str, float | int | None]:
        """For the record of a cell."""
        return {
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_memory": self.peak_memory,
        }


@contextmanager
def measured() -> Iterator[Cost]:
    """Measure a block; memory is the whole process's, at its highest while the block ran."""
    cost = Cost()
    _forget_peak()
    began, worked = time.perf_counter(), time.process_time()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - began
        cost.cpu_seconds = time.process_time() - worked
        cost.peak_memory = _peak()


def _forget_peak() -> None:
    """Linux keeps the highest memory of a process until it is told to start again."""
    try:
        _RESET.write_text("5")
    except OSError:
        return  # then the peak is that of the process so far


def _peak() -> int:
    try:
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest if sys.platform == "darwin" else highest * 1024
