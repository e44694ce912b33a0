"""The level at which a method's leakage meets a target, with an interval.

Why the interval holds
    A level is in the interval if the target lies in the band around the curve there: the interval
    is the set of levels that a test does not reject. So it misses the true level only if the band
    misses the true curve *at that level*. What the band does elsewhere, and how the figures of
    different levels are correlated, does not matter (``statistics.seeds`` says how wide it is).
    Between two levels the width of the band is interpolated linearly, as if the errors of both were
    fully correlated.

What it assumes
    The curve is monotone (see ``fitness``), and linear between neighboring levels that were tried,
    on a logarithmic scale if levels are positive. ``surely_below`` and ``surely_above`` do not need
    the second assumption: they are levels that were tried, on either side of the target.

Care
    Nothing is extrapolated. A target that the levels tried do not reach is reported as out of
    reach, and an interval that extends beyond them as open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.calibration.curves import Curve
from sfumato.core.arrays import Floats
from sfumato.core.json import write_number
from sfumato.results.measured import CONFIDENCE
from sfumato.statistics.isotonic import isotonic

REACHED = "reached"
ABOVE_EVERYWHERE = "leaks more at every level tried"
BELOW_EVERYWHERE = "leaks less at every level tried"
BEYOND_FINITE = "between the largest finite level and infinity"
UNFIT_CURVE = "not inverted: the curve is unfit"


@dataclass(frozen=True, kw_only=True)
class Inversion:
    """The level at which a curve meets a target.

    ``low`` and ``high`` are the ends of the interval within the levels tried. They are None if the
    noise is unknown, or if every level tried leaks more, or every one less, beyond noise. An end is
    ``open`` if the interval extends beyond the levels tried. ``surely_below`` is the weakest level
    tried that leaks less than the target beyond noise, ``surely_above`` the strongest that leaks
    more.
    """

    target: float
    status: str
    level: float | None = None
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    surely_below: float | None = None
    surely_above: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity."""
        numbers = ("target", "level", "low", "high", "surely_below", "surely_above")
        values = {name: getattr(self, name) for name in numbers}
        return {
            **{name: write_number(one) for name, one in values.items()},
            "status": self.status,
            "open_low": self.open_low,
            "open_high": self.open_high,
        }


def invert(
    curve: Curve, target: float, *, rising: bool, confidence: float = CONFIDENCE
) -> Inversion:
    """Find the level of a curve (larger values mean more leakage) at a target.

    If the fit is constant at the target over several levels, the strongest of them is given; the
    interval covers the others.
    """
    line = _Line.of(curve, rising=rising, confidence=confidence)
    level = None
    if target < line.middle[0]:
        status = ABOVE_EVERYWHERE
    elif target > line.middle[-1]:
        status = BELOW_EVERYWHERE
    else:
        level = line.level(_first(line.places, line.middle, target))
        status = BEYOND_FINITE if level is None else REACHED
    return Inversion(target=target, status=status, level=level, **_interval(line, target))


def fit_monotone(curve: Curve, *, rising: bool) -> Floats:
    """The monotone fit at each level, smallest level first."""
    way = 1.0 if rising else -1.0
    return way * isotonic(way * curve.means, curve.counts)


@dataclass(frozen=True, eq=False)
class _Line:
    """The fit from the strong end to the weak one, with the width of its band."""

    curve: Curve
    way: float
    places: Floats
    middle: Floats
    lower: Floats | None
    upper: Floats | None

    @classmethod
    def of(cls, curve: Curve, *, rising: bool, confidence: float) -> _Line:
        order = slice(None) if rising else slice(None, None, -1)
        way = 1.0 if rising else -1.0
        band, middle = curve.band(confidence), fit_monotone(curve, rising=rising)
        lower, upper = (None, None) if band is None else band.around(middle)
        return cls(
            curve,
            way,
            way * np.array([curve.axis.place(level) for level in curve.levels])[order],
            middle[order],
            None if lower is None else lower[order],
            None if upper is None else upper[order],
        )

    @property
    def levels(self) -> tuple[float, ...]:
        """From the strong end to the weak one."""
        return self.curve.levels if self.way > 0 else self.curve.levels[::-1]

    def level(self, place: float) -> float | None:
        """The level at a place; None between the largest finite level and infinity.

        A level that was tried is returned exactly.
        """
        for known, level in zip(self.places, self.levels, strict=True):
            if place == known:
                return level
        found = self.curve.axis.level(self.way * place)
        return None if math.isinf(found) else found

    def outward(self, places: tuple[float, float]) -> tuple[float, float]:
        """The smaller and the larger level at two places, strong end first.

        Where there is no level, the next one outwards is taken.
        """
        smaller, larger = places if self.way > 0 else places[::-1]
        low, high = self.level(smaller), self.level(larger)
        finite = [level for level in self.curve.levels if math.isfinite(level)]
        return finite[-1] if low is None else low, math.inf if high is None else high


def _interval(line: _Line, target: float) -> dict[str, Any]:
    """The levels that the test does not reject, and the nearest rejected ones on either side."""
    if line.lower is None or line.upper is None:
        return {}
    upper, lower = line.upper, line.lower
    below = [level for level, top in zip(line.levels, upper, strict=True) if top < target]
    above = [level for level, end in zip(line.levels, lower, strict=True) if end > target]
    surely = {
        "surely_below": below[-1] if below else None,
        "surely_above": above[0] if above else None,
    }
    if len(below) == len(line.levels) or len(above) == len(line.levels):
        return surely
    strong_open, weak_open = bool(upper[0] >= target), bool(lower[-1] <= target)
    strong = line.places[0] if strong_open else _first(line.places, upper, target)
    # From the other end: the last place where the lower side of the band is not above the target.
    weak = line.places[-1] if weak_open else -_first(-line.places[::-1], -lower[::-1], -target)
    low, high = line.outward((float(strong), float(weak)))
    opened = (strong_open, weak_open) if line.way > 0 else (weak_open, strong_open)
    return {**surely, "low": low, "high": high, "open_low": opened[0], "open_high": opened[1]}


def _first(places: Floats, values: Floats, target: float) -> float:
    """The first place where a line through the values is at the target or above it."""
    index = int(np.flatnonzero(values >= target)[0])
    if index == 0 or values[index] == target:
        return float(places[index])
    before, after = values[index - 1], values[index]
    share = (target - before) / (after - before)
    return float(places[index - 1] + share * (places[index] - places[index - 1]))
