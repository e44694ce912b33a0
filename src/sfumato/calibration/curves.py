"""A figure of one method against the method's own parameter, over seeds, with intervals."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.calibration.spread import CONFIDENCE, ROW_QUANTILE, Noise, noise_of
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.results.row import Row


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
    """What one seed gave at one level; ``error`` is the standard error in its row, if known."""

    level: float
    seed: int
    value: float
    error: float | None


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
    noise: Noise

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
        halves = self.noise.halves(confidence)
        value = float(self.means[index])
        half = None if halves is None else float(halves[index])
        return LevelEstimate(
            value=value,
            low=None if half is None else value - half,
            high=None if half is None else value + half,
            n=int(self.counts[index]),
        )


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
    points = tuple(
        CurvePoint(
            level=level,
            seed=seed,
            value=float(np.mean([row.value for row in some])),
            error=_root_mean_square([standard_error(row) for row in some]),
        )
        for (level, seed), some in sorted(cells.items(), key=lambda item: item[0])
    )
    levels = tuple(sorted({point.level for point in points}))
    groups = [[point for point in points if point.level == level] for level in levels]
    values = [[point.value for point in group] for group in groups]
    errors = [_root_mean_square([point.error for point in group]) for group in groups]
    return Curve(
        method=method,
        parameter=parameter,
        points=points,
        levels=levels,
        means=np.array([np.mean(some) for some in values]),
        counts=np.array([float(len(some)) for some in values]),
        noise=noise_of(values, errors, [[point.seed for point in group] for group in groups]),
    )


def estimate_of(rows: Sequence[Row]) -> LevelEstimate | None:
    """The mean of figures that have no level: an anchor, or a method without a parameter."""
    seeds: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        if usable(row):
            seeds[row.seed].append(row)
    if not seeds:
        return None
    values = [float(np.mean([row.value for row in some])) for some in seeds.values()]
    error = _root_mean_square([standard_error(row) for some in seeds.values() for row in some])
    halves = noise_of([values], [error]).halves()
    value = float(np.mean(values))
    half = None if halves is None else float(halves[0])
    return LevelEstimate(
        value=value,
        low=None if half is None else value - half,
        high=None if half is None else value + half,
        n=len(values),
    )


def usable(row: Row) -> bool:
    """Whether a row has a finite value."""
    return row.value is not None and math.isfinite(row.value)


def standard_error(row: Row) -> float | None:
    """The standard error behind a row's interval of 95 %."""
    if row.low is None or row.high is None:
        return None
    width = row.high - row.low
    return width / (2 * ROW_QUANTILE) if math.isfinite(width) and width >= 0 else None


def _root_mean_square(errors: Sequence[float | None]) -> float | None:
    known = [error for error in errors if error is not None]
    return math.sqrt(float(np.mean(np.square(known)))) if known else None
