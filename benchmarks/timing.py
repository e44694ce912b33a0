"""Timing by turns: each repetition runs every piece of work once, so that all share the weather."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

Row = dict[str, object]
Work = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Seconds of each repetition: wall, and processor time of this process and its children."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    def rate(self, amount: float) -> str:
        """Amount per second of wall time."""
        return spread([amount / seconds for seconds in self.wall])

    def cpu_rate(self, amount: float) -> str:
        """Amount per second of processor time."""
        return spread([amount / seconds for seconds in self.cpu])

    def ratio(self, other: Timing) -> str:
        """How many times as fast as the other, repetition by repetition."""
        return spread([b / a for a, b in zip(self.wall, other.wall, strict=True)])

    def cpu_ratio(self, other: Timing) -> str:
        """The same in processor time, which other people's work disturbs less."""
        return spread([b / a for a, b in zip(self.cpu, other.cpu, strict=True)])


def by_turns(work: Mapping[str, Work], repetitions: int, *, warm: bool = True) -> dict[str, Timing]:
    """Time pieces of work by turns, after one untimed turn."""
    if warm:
        for piece in work.values():
            piece()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for _ in range(repetitions):
        for name, piece in work.items():
            taken[name].append(_timed(piece))
    return {
        name: Timing(tuple(wall for wall, _ in times), tuple(cpu for _, cpu in times))
        for name, times in taken.items()
    }


def spread(values: list[float]) -> str:
    """Median, smallest and largest."""
    return f"{_short(median(values))} ({_short(min(values))}–{_short(max(values))})"


def _timed(piece: Work) -> tuple[float, float]:
    cpu, wall = _cpu(), time.perf_counter()
    piece()
    return time.perf_counter() - wall, max(_cpu() - cpu, 1e-6)


def _cpu() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
