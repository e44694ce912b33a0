"""A figure of one method against the method's own parameter, over seeds, with intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.results.measured import ANYTHING, CONFIDENCE, Ends, Range, inside
from sfumato.results.row import Row
from sfumato.statistics.clusters import sides_over_clusters
from sfumato.statistics.seeds import SeedFigure, over_seeds, own_sides


@dataclass(frozen=True, kw_only=True)
class LevelEstimate:
    """A mean over ``n`` seeds with its interval, if one is known."""

    value: float
    low: float | None
    high: float | None
    n: int

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """What one seed gave at one level."""

    level: float
    seed: int
    value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """How far the interval at each level reaches below and above its mean, before it is cut."""

    below: Floats
    above: Floats
    within: Range

    def around(self, middle: Floats) -> tuple[Floats, Floats]:
        """The lower and the upper side of the band around a curve, cut to the range."""
        least, most = self.within
        lower, upper = middle - self.below, middle + self.above
        low = -math.inf if least is None else least
        high = math.inf if most is None else most
        return np.clip(lower, low, high), np.clip(upper, low, high)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The scale of levels: logarithmic if all are positive, else linear.

    An infinite level (no noise at all) is placed beyond the largest finite one. No level lies
    between the two, so ``level`` gives infinity there.
    """

    logarithmic: bool
    end: float

    @classmethod
    def of(cls, levels: Iterable[float]) -> Axis:
        """The scale for some levels."""
        finite = [level for level in levels if math.isfinite(level)]
        logarithmic = bool(finite) and min(finite) > 0
        largest = max(finite, default=0.0)
        return cls(logarithmic=logarithmic, end=math.log(largest) if logarithmic else largest)

    def place(self, level: float) -> float:
        """The place of a level: a number that grows with it."""
        if math.isinf(level):
            return self.end + 1.0
        if not self.logarithmic:
            return level
        return math.log(level) if level > 0 else -math.inf

    def level(self, place: float) -> float:
        """The level at a place."""
        if place > self.end:
            return math.inf
        return math.exp(place) if self.logarithmic else place


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Means over seeds at each level, smallest level first."""

    method: str
    parameter: str
    points: tuple[CurvePoint, ...]
    levels: tuple[float, ...]
    means: Floats
    counts: Floats
    rows: tuple[tuple[Row, ...], ...]

    @cached_property
    def axis(self) -> Axis:
        """The scale of the levels."""
        return Axis.of(self.levels)

    @property
    def seeds(self) -> int:
        """How many different seeds there are."""
        return len({point.seed for point in self.points})

    def at(self, index: int, confidence: float = CONFIDENCE) -> LevelEstimate:
        """The mean at one of the levels."""
        found = estimate_of(self.rows[index], confidence)
        if found is None:
            raise InvalidArgument(f"{self.method}: a level without a finite value")
        return found

    def band(self, confidence: float = CONFIDENCE) -> Band | None:
        """The intervals at all levels; None if none of them is known.

        A level without an interval is taken to be as uncertain as the most uncertain one.
        """
        # Around a monotone fit the interval stands elsewhere, so it is cut to the range there.
        found = [_estimate(some, confidence) for some in self.rows]
        sides = np.array(
            [
                (math.nan, math.nan)
                if one is None or one.low is None or one.high is None
                else (one.value - one.low, one.high - one.value)
                for one in found
            ]
        )
        if np.isnan(sides).all():
            return None
        sides = np.where(np.isnan(sides), np.nanmax(sides), sides)
        return Band(below=sides[:, 0], above=sides[:, 1], within=range_of(self.rows[0]))


def curve_of(rows: Iterable[Row], *, method: str, parameter: str) -> Curve:
    """The curve of one figure of one method; rows of the same level and seed are averaged.

    >>> rows = [Row(cell="", method="m", parameter="epsilon", level=level, seed=seed,
    ...             role="leakage", by="a", metric="a", better="lower", value=value)
    ...         for level, seed, value in [(8.0, 1, 3.0), (1.0, 1, 1.0), (1.0, 2, 2.0)]]
    >>> found = curve_of(rows, method="m", parameter="epsilon")
    >>> found.levels, found.means.tolist(), found.counts.tolist()
    ((1.0, 8.0), [1.5, 3.0], [2.0, 1.0])
    """
    cells: defaultdict[tuple[float, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.level is None or math.isnan(row.level) or not usable(row):
            raise InvalidArgument(f"{method}: a curve needs rows with a level and a finite value")
        cells[float(row.level), row.seed].append(row)
    if not cells:
        raise InvalidArgument(f"{method}: a curve needs at least one row")
    ordered = sorted(cells.items(), key=lambda item: item[0])
    points = tuple(
        CurvePoint(level=level, seed=seed, value=_figure(some).value)
        for (level, seed), some in ordered
    )
    levels = tuple(sorted({point.level for point in points}))
    values = [[point.value for point in points if point.level == level] for level in levels]
    return Curve(
        method=method,
        parameter=parameter,
        points=points,
        levels=levels,
        means=np.array([np.mean(some) for some in values]),
        counts=np.array([float(len(some)) for some in values]),
        rows=tuple(
            tuple(row for (there, _), some in ordered if there == level for row in some)
            for level in levels
        ),
    )


def estimate_of(rows: Sequence[Row], confidence: float = CONFIDENCE) -> LevelEstimate | None:
    """The mean over seeds of one figure at one level, as calibrations and reports show it.

    Rows of the same seed are averaged first; rows without a finite value are ignored.
    """
    found, within = _estimate(rows, confidence), range_of(rows)
    if found is None or found.low is None or found.high is None:
        return found
    return replace(found, low=inside(found.low, within), high=inside(found.high, within))


def _estimate(rows: Sequence[Row], confidence: float) -> LevelEstimate | None:
    """The same before the interval is cut to the range of the figure."""
    seeds: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if usable(row):
            seeds[row.seed].append(row)
    if not seeds:
        return None
    figures = [_figure(some) for some in seeds.values()]
    ends = _over_units(seeds, range_of(rows), confidence)
    low, high = ends or over_seeds(figures, ANYTHING, confidence)
    value = float(np.mean([one.value for one in figures]))
    return LevelEstimate(value=value, low=low, high=high, n=len(figures))


def _over_units(
    seeds: Mapping[int, Sequence[Row]], within: Range, confidence: float
) -> Ends | None:
    """The interval over seeds and units together; None unless all seeds looked at the same."""
    units = [rows[0].units for rows in seeds.values() if len(rows) == 1 and rows[0].units]
    if len(units) < len(seeds) or len({len(one) for one in units}) != 1 or len(units[0]) < 2:
        return None
    values = np.array(units)
    sides, mean = sides_over_clusters(values, within, confidence), float(values.mean())
    return (None, None) if sides is None else (mean - sides[0], mean + sides[1])


# Two figures are told apart, in one direction, if their intervals at this confidence do not meet:
# each then errs towards the other with 5 % at most. Intervals of 95 % may still touch.
TELLING = 0.90


class WithEnds(Protocol):
    """A figure with its interval, if one is known."""

    @property
    def low(self) -> float | None:
        """The lower end."""
        ...

    @property
    def high(self) -> float | None:
        """The upper end."""
        ...


def overlap(first: WithEnds, second: WithEnds) -> bool:
    """Whether two figures cannot be told apart; without intervals nothing can.

    >>> wide, high = (LevelEstimate(value=1, low=low, high=4, n=2) for low in (0, 3))
    >>> overlap(wide, high), overlap(wide, LevelEstimate(value=9, low=8, high=9, n=2))
    (True, False)
    """
    ends = first.low, first.high, second.low, second.high
    if any(end is None for end in ends):
        return True
    low, high, other_low, other_high = (end or 0.0 for end in ends)
    return low <= other_high and other_low <= high


def usable(row: Row) -> bool:
    """Whether a row has a finite value."""
    return row.value is not None and math.isfinite(row.value)


def range_of(rows: Sequence[Row]) -> Range:
    """The range of one figure; rows that were written before ranges were have none."""
    return (
        next((row.least for row in rows if row.least is not None), None),
        next((row.most for row in rows if row.most is not None), None),
    )


def _figure(rows: Sequence[Row]) -> SeedFigure:
    """The rows of one seed as one figure."""
    several = [SeedFigure(value=row.value or 0.0, low=row.low, high=row.high) for row in rows]
    value = float(np.mean([one.value for one in several]))
    sides = own_sides(several)
    if sides is None:
        return SeedFigure(value=value)
    return SeedFigure(value=value, low=value - sides[0], high=value + sides[1])
