"""The same work by local workers and by actors of Ray, as ratios of processor time.

The start of Ray is apart: it is paid once for a run, however large. Processor time is that of this
process and of all that it started, actors and Ray's own processes among them. Training on several
processes has its place in ``PROCESSES``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import sfumato
from benchmarks.commands import write_dialogues
from benchmarks.timing import Row, spread
from sfumato.core.progress import QUIET
from sfumato.engines.on_ray import connected
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.releases.release import Release

LOCAL = {"1 local worker": 1, "2 local workers": 2}
ON_RAY = {"Ray, 1 actor": 1, "Ray, 2 actors": 2}
START = "Ray, its start"
CUTTING = "reading and cutting alone, as every actor does once"
FIRST = "1 local worker"
# One and two training processes: name and function, added where training has them.
PROCESSES: dict[str, Callable[[bool], list[Row]]] = {}
_TICKS = os.sysconf("SC_CLK_TCK")


def run(quick: bool) -> list[Row]:
    """One file, privatized by each of them, by turns."""
    QUIET.set(True)
    METER.start()
    repetitions = 1 if quick else 3
    taken: dict[str, list[tuple[float, float]]] = {}
    with TemporaryDirectory() as folder:
        source = write_dialogues(Path(folder) / "in.jsonl", 1_000 if quick else 2_000)
        documents = _privatize(source, 1).counts["documents"]
        for _ in range(repetitions):
            with _measured(taken, CUTTING):
                _cut(source)
            for name, workers in LOCAL.items():
                with _measured(taken, name):
                    _privatize(source, workers)
            with _measured(taken, START) as started, connected(None, 2):
                started()
                for name, workers in ON_RAY.items():
                    with _measured(taken, name):
                        _privatize(source, workers, "ray")
    rows = [_row(name, times, taken[FIRST], documents) for name, times in taken.items()]
    return rows + [row for measure in PROCESSES.values() for row in measure(quick)]


def _privatize(source: Path, workers: int, engine: str = "local") -> Release:
    target = source.with_name("out.jsonl")
    return sfumato.privatize(source, target, workers=workers, engine=engine, overwrite=True)


def _cut(source: Path) -> None:
    with Source.of(source, Layout(others=True)).opened() as (chunks, _):
        for _ in chunks:
            pass


def _row(
    name: str, times: list[tuple[float, float]], first: list[tuple[float, float]], documents: int
) -> Row:
    row: Row = {
        "setting": name,
        "processor s": spread([cpu for cpu, _ in times]),
        "wall s": spread([wall for _, wall in times]),
    }
    if name == START:
        return row
    if name == CUTTING:
        documents = 0
    ratios = [cpu / other for (cpu, _), (other, _) in zip(times, first, strict=True)]
    rate = {"documents per processor s": spread([documents / cpu for cpu, _ in times])}
    return (
        row
        | (rate if documents else {})
        | {
            "times the processor time of 1 local worker": spread(ratios),
        }
    )


@contextmanager
def _measured(
    taken: dict[str, list[tuple[float, float]]], name: str
) -> Iterator[Callable[[], None]]:
    """What a block costs; up to where it says so, if it does."""
    cpu, wall = METER.seconds(), time.perf_counter()
    ended: list[tuple[float, float]] = []

    def end() -> None:
        ended.append((METER.seconds() - cpu, time.perf_counter() - wall))

    yield end
    if not ended:
        end()
    taken.setdefault(name, []).append(ended[0])


class Meter(threading.Thread):
    """Processor time of this process and of all that it started, also of those that were killed.

    Nobody waits for a killed actor, so its time is written down while it lives.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._seen: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def run(self) -> None:
        """Look now and then."""
        while True:
            self.seconds()
            time.sleep(0.1)

    def seconds(self) -> float:
        """All that was seen so far."""
        with self._lock:
            stats, mine = _stats(), {os.getpid()}
            while more := {pid for pid, one in stats.items() if one.parent in mine} - mine:
                mine |= more
            self._seen |= {(pid, stats[pid].began): stats[pid].ticks for pid in mine}
            return sum(self._seen.values()) / _TICKS


class _Stat(NamedTuple):
    parent: int
    ticks: int
    began: int


def _stats() -> Mapping[int, _Stat]:
    """The parent of every process, its own ticks, and when it began."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        ticks = int(fields[11]) + int(fields[12])
        found[int(path.parent.name)] = _Stat(int(fields[1]), ticks, int(fields[19]))
    return found


METER = Meter()
