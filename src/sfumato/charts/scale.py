"""Scales of the pictures that a page draws by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.charts.sweeps import FAR, Spot


@dataclass(frozen=True)
class Scale:
    """From values to places, logarithmic where figures differ by a large factor."""

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool

    @classmethod
    def over(cls, values: Sequence[float], ends: tuple[float, float], *, may_be_log: bool) -> Scale:
        """A scale with some room around the values; ``ends`` are its places."""
        low, high = min(values), max(values)
        logarithmic = may_be_log and low >= 1 and high >= FAR * low
        if logarithmic:
            room = (high / low) ** 0.07
            return cls(low / room, high * room, *ends, logarithmic)
        room = 0.09 * ((high - low) or abs(high) or 1.0)
        return cls(low - room, high + room, *ends, logarithmic)

    def at(self, value: float) -> float:
        """The place of a value; what lies outside is put at the edge."""
        low, high = self.low, self.high
        value = min(max(value, low), high)
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return self.start + (self.stop - self.start) * (value - low) / (high - low)

    def ticks(self, most: int) -> list[float]:
        """Round values, about so many."""
        return _powers(self.low, self.high, most) if self.logarithmic else _steps(self, most)


def _powers(low: float, high: float, most: int) -> list[float]:
    found: list[float] = []
    for parts in ((1, 2, 5), (1, 3), (1,)):
        exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [part * 10.0**exponent for exponent in exponents for part in parts]
        found = [one for one in found if low <= one <= high]
        if len(found) <= most:
            break
    return found


def _steps(scale: Scale, most: int) -> list[float]:
    raw = (scale.high - scale.low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(part * power for part in (1, 2, 2.5, 5, 10) if part * power >= raw)
    first = math.ceil(scale.low / step)
    return [round(place * step, 12) for place in range(first, math.floor(scale.high / step) + 1)]


def spread(spots: Sequence[Spot]) -> list[float]:
    """The values that a scale must hold, with the ends of intervals."""
    values = [one.value for one in spots]
    low, high = min(values), max(values)
    room = max(high - low, abs(high) * 0.1)
    # An interval that is wider than everything else together is cut at the edge.
    ends = [end for one in spots for end in (one.low, one.high) if end is not None]
    return [*values, *(min(max(end, low - room), high + room) for end in ends)]
