"""Figures over seeds: one mean for each method and level, with its interval."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from sfumato.calibration.curves import TELLING, estimate_of
from sfumato.charts.numbers import level_of
from sfumato.results.row import HIGHER, LEAKAGE, NO_PRIVACY, RANDOM_OUTPUT, Row

# Intervals below this share of the difference between the anchors are no intervals.
HARDLY_ANY = 0.02


@dataclass(frozen=True, kw_only=True, order=True)
class Quantity:
    """A kind of figure, and the attack or measure that gives it."""

    role: str
    by: str
    metric: str
    better: str

    @property
    def said(self) -> str:
        """The name for a heading."""
        return self.metric if self.by in self.metric else f"{self.metric} ({self.by})"


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """A mean over seeds with its interval; a single figure keeps its own interval.

    ``inner`` is the interval at ``TELLING``, by which figures are told apart.
    """

    method: str
    parameter: str | None
    level: float | None
    group: str | None
    value: float
    low: float | None
    high: float | None
    n: int
    seeds: int
    chance: float | None
    inner: tuple[float, float] | None = None

    @property
    def telling(self) -> tuple[float, float] | None:
        """The ends by which it is told from others: the inner ones, or those of its interval."""
        known = self.low is not None and self.high is not None
        outer = (self.low or 0.0, self.high or 0.0) if known else None
        return outer if self.inner is None else self.inner

    @property
    def said(self) -> str:
        """Method and level."""
        level = level_of(self.parameter, self.level)
        return f"{self.method}, {level}" if level else self.method


def quantity_of(row: Row) -> Quantity:
    """The quantity of a row."""
    return Quantity(role=row.role, by=row.by, metric=row.metric, better=row.better)


def quantities(rows: Iterable[Row]) -> list[Quantity]:
    """All quantities that were measured, in the order in which they first occur."""
    return list(dict.fromkeys(quantity_of(row) for row in rows))


def points(rows: Iterable[Row], quantity: Quantity) -> list[SeriesPoint]:
    """One point for each corpus, method, level and group; rows without a value are ignored."""
    collected: dict[tuple[str | float | None, ...], list[Row]] = {}
    for row in rows:
        if quantity_of(row) == quantity and row.value is not None:
            key = row.corpus, row.method, row.parameter, row.level, row.group
            collected.setdefault(key, []).append(row)
    return [_point(some) for some in collected.values()]


def _point(rows: Sequence[Row]) -> SeriesPoint:
    some = rows[0]
    over_seeds = estimate_of(rows)
    low, high = (over_seeds.low, over_seeds.high) if over_seeds else (None, None)
    inner = estimate_of(rows, TELLING)
    known = inner is not None and inner.low is not None and inner.high is not None
    value = fmean(row.value for row in rows if row.value is not None)
    chances = [row.chance for row in rows if row.chance is not None]
    return SeriesPoint(
        method=some.method,
        parameter=some.parameter,
        level=some.level,
        group=some.group,
        value=value,
        low=low,
        high=high,
        # Seeds look at the same texts, so their numbers do not add up.
        n=max(row.n for row in rows),
        seeds=len(rows),
        chance=fmean(chances) if chances else None,
        inner=(inner.low or 0.0, inner.high or 0.0) if known and inner is not None else None,
    )


def telling(rows: Iterable[Row]) -> list[Quantity]:
    """One quantity for each attack or measure: its most informative figure.

    That is the figure that covers most methods and levels. Among several such figures of an attack,
    which have the same unit, it is the one with the largest difference between no privacy and
    random output, if possible one whose intervals are known there; otherwise it is the first one.
    """
    found = [row for row in rows if row.value is not None and math.isfinite(row.value)]
    best: dict[str, tuple[tuple[int, bool, bool, float], Quantity]] = {}
    for one in quantities(found):
        some = points(found, one)
        reach = len({(point.method, point.level) for point in some})
        known = best.get(one.by)
        gain = _between_ends(some, one) if one.role == LEAKAGE else 0.0
        worth = reach, gain > 0, gain > 0 and _ends_are_known(some), gain
        if known is None or worth > known[0]:
            best[one.by] = worth, one
    return [one for _, one in best.values()]


def _ends_are_known(some: Sequence[SeriesPoint]) -> bool:
    """Whether both anchors have intervals; one of hardly any width comes of too few cases."""
    anchors = [point for point in some if point.method in (NO_PRIVACY, RANDOM_OUTPUT)]
    apart = max(point.value for point in anchors) - min(point.value for point in anchors)
    return all(
        point.low is not None
        and point.high is not None
        and point.high - point.low > HARDLY_ANY * apart
        for point in anchors
    )


def _between_ends(some: Sequence[SeriesPoint], quantity: Quantity) -> float:
    """How much worse no privacy is than random output, and at least zero."""
    most = next((point for point in some if point.method == NO_PRIVACY), None)
    least = next((point for point in some if point.method == RANDOM_OUTPUT), None)
    if most is None or least is None:
        return 0.0
    if quantity.better == HIGHER:
        most, least = least, most
    # The smallest difference within the intervals: a figure that varies widely says little.
    low = most.value if most.telling is None else most.telling[0]
    high = least.value if least.telling is None else least.telling[1]
    return max(0.0, low - high)


def headline(rows: Sequence[Row], role: str, on_models: Container[str] = ()) -> Quantity | None:
    """The quantity to show first: the informative one that covers most methods and levels.

    Among equals an attack that tells no privacy from random output is preferred to one that does
    not, and one that looks at models to one that looks at texts.
    """
    mine = [row for row in whole(rows) if row.role == role]
    reach: dict[Quantity, tuple[int, bool, bool]] = {}
    for one in telling(mine):
        some = points(mine, one)
        tells = role == LEAKAGE and _between_ends(some, one) > 0
        reach[one] = len(some), tells, one.by in on_models
    return max(reach, key=lambda one: reach[one], default=None)


def whole(rows: Iterable[Row]) -> list[Row]:
    """The figures over all documents."""
    return [row for row in rows if row.group_field is None]


def end(found: Sequence[SeriesPoint], method: str) -> float | None:
    """The value at one of the two anchors between which every method lies."""
    return next((point.value for point in found if point.method == method), None)


def ends(found: Sequence[SeriesPoint]) -> list[tuple[str, float]]:
    """The values at the two anchors, as far as they are known."""
    known = {"no privacy": end(found, NO_PRIVACY), "random output": end(found, RANDOM_OUTPUT)}
    return [(name, value) for name, value in known.items() if value is not None]
