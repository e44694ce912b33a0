"""Figures over seeds: one value for each method and level, with what is known about it."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from sfumato.calibration.curves import estimate_of
from sfumato.charts.numbers import level_of
from sfumato.results.row import HIGHER, LEAKAGE, NO_PRIVACY, RANDOM_OUTPUT, Row


@dataclass(frozen=True, kw_only=True, order=True)
class Quantity:
    """What was measured, by what."""

    role: str
    by: str
    metric: str
    better: str

    @property
    def said(self) -> str:
        """For a heading."""
        return self.metric if self.by in self.metric else f"{self.metric} ({self.by})"


@dataclass(frozen=True, kw_only=True)
class SeriesPoint:
    """A mean over seeds with its interval; a single figure keeps the interval it came with."""

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

    @property
    def said(self) -> str:
        """Method and level."""
        level = level_of(self.parameter, self.level)
        return f"{self.method}, {level}" if level else self.method


def quantity_of(row: Row) -> Quantity:
    """What a row is about."""
    return Quantity(role=row.role, by=row.by, metric=row.metric, better=row.better)


def quantities(rows: Iterable[Row]) -> list[Quantity]:
    """All that were measured, in the order in which they first occur."""
    return list(dict.fromkeys(quantity_of(row) for row in rows))


def points(rows: Iterable[Row], quantity: Quantity) -> list[SeriesPoint]:
    """One point for each corpus, method, level and group; rows without a value say nothing."""
    collected: dict[tuple[str | float | None, ...], list[Row]] = {}
    for row in rows:
        if quantity_of(row) == quantity and row.value is not None:
            key = row.corpus, row.method, row.parameter, row.level, row.group
            collected.setdefault(key, []).append(row)
    return [_point(some) for some in collected.values()]


def _point(rows: Sequence[Row]) -> SeriesPoint:
    some = rows[0]
    value, low, high = some.value or 0.0, some.low, some.high
    if len(rows) > 1:
        over_seeds = estimate_of(rows)
        low, high = (over_seeds.low, over_seeds.high) if over_seeds else (None, None)
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
        # Seeds look at the same texts: together they are no more of them.
        n=max(row.n for row in rows),
        seeds=len(rows),
        chance=fmean(chances) if chances else None,
    )


def telling(rows: Iterable[Row]) -> list[Quantity]:
    """One quantity for each attack or measure: the figure that tells most.

    That is what speaks of most methods and levels; of several the one that is furthest from random
    output without privacy (an attack's figures have the same unit), else the earliest.
    """
    found = [row for row in rows if row.value is not None and math.isfinite(row.value)]
    best: dict[str, tuple[int, float, Quantity]] = {}
    for one in quantities(found):
        some = points(found, one)
        reach = len({(point.method, point.level) for point in some})
        known = best.get(one.by)
        gain = _between_ends(some, one) if one.role == LEAKAGE else 0.0
        if known is None or (reach, gain) > known[:2]:
            best[one.by] = reach, gain, one
    return [one for _, _, one in best.values()]


def _between_ends(some: Sequence[SeriesPoint], quantity: Quantity) -> float:
    """How much worse no privacy is than random output; less than nothing tells nothing."""
    most = next((point for point in some if point.method == NO_PRIVACY), None)
    least = next((point for point in some if point.method == RANDOM_OUTPUT), None)
    if most is None or least is None:
        return 0.0
    if quantity.better == HIGHER:
        most, least = least, most
    # At least so much, if intervals are known: a figure that varies widely tells little.
    low = most.value if most.low is None else most.low
    high = least.value if least.high is None else least.high
    return max(0.0, low - high)


def headline(rows: Sequence[Row], role: str, on_models: Container[str] = ()) -> Quantity | None:
    """The quantity to show first: of all that tell most, what speaks of most methods and levels.

    Of equals that which looks at models: a text is privatized for what is made of it.
    """
    mine = [row for row in whole(rows) if row.role == role]
    reach = {one: (len(points(mine, one)), one.by in on_models) for one in telling(mine)}
    return max(reach, key=lambda one: reach[one], default=None)


def whole(rows: Iterable[Row]) -> list[Row]:
    """The figures over all documents."""
    return [row for row in rows if row.group_field is None]


def end(found: Sequence[SeriesPoint], method: str) -> float | None:
    """The value at one of the two ends between which every method lies."""
    return next((point.value for point in found if point.method == method), None)


def ends(found: Sequence[SeriesPoint]) -> list[tuple[str, float]]:
    """What the two ends give, to say beside a figure."""
    known = {"no privacy": end(found, NO_PRIVACY), "random output": end(found, RANDOM_OUTPUT)}
    return [(name, value) for name, value in known.items() if value is not None]
