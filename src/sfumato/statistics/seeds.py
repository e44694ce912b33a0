"""The mean of one figure over seeds, with its interval: the one that everything draws.

A figure is uncertain for two reasons. Another seed gives another model or text; the spread over
seeds shows that. And each seed looked at a limited number of secrets or texts; the figure's own
interval shows that. Seeds often look at the same texts, and then the second error does not average
out over seeds. So half the width of the interval, on each side by itself, is the root of

    own² + (t·spread)²/n

with ``own`` the distance from the figure to the end of its own interval (the root of the mean
square over seeds), and t Student's for n − 1 degrees of freedom. If all seeds have the same error,
the spread does not show it, and the first term keeps it. If the errors of seeds are independent,
the spread contains them, and the first term only widens: how much of an error seeds share is not
known, so nothing is subtracted.

Student's factor, which is 12.7 for two seeds, multiplies only what seeds have shown: seeds that
agree do not widen the interval of what each of them found. The sides differ if those of the own
intervals do, as for a share near 0 (Zou and Donner 2008 combine intervals in this way).

What is true lies in the range of the figure, so the interval is cut to it, and holds as often as
before. Each level of a method stands for itself: what is drawn does not depend on other levels.

Care
    With a single seed only the figure's own interval is known. It does not cover the difference to
    another run. Seeds that agree exactly and have no interval of their own say nothing about how
    they vary, so there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.results.measured import ANYTHING, CONFIDENCE, Ends, Range, inside
from sfumato.statistics.intervals import student


@dataclass(frozen=True, kw_only=True)
class SeedFigure:
    """What one seed gave, with its own 95 % interval if it has one."""

    value: float
    low: float | None = None
    high: float | None = None


def over_seeds(
    figures: Sequence[SeedFigure], within: Range = ANYTHING, confidence: float = CONFIDENCE
) -> Ends:
    """The interval of the mean of finite figures.

    >>> agreeing = [SeedFigure(value=value, low=0.2, high=0.4) for value in (0.3000, 0.3001)]
    >>> low, high = over_seeds(agreeing, (0.0, 1.0))
    >>> f"{low:.3f} to {high:.3f}"
    '0.200 to 0.400'
    """
    values = np.array([one.value for one in figures], dtype=np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    own = own_sides(figures)
    if own is None and spread == 0:
        return None, None
    wider = student(confidence, math.inf) / student(CONFIDENCE, math.inf)
    among = student(confidence, len(values) - 1) * spread / math.sqrt(len(values)) if spread else 0
    below, above = (math.hypot(wider * side, among) for side in own or (0.0, 0.0))
    mean = float(values.mean())
    return inside(mean - below, within), inside(mean + above, within)


def own_sides(figures: Sequence[SeedFigure]) -> tuple[float, float] | None:
    """How far the figures' own intervals reach below and above them, as root mean squares."""
    known = [
        (max(0.0, one.value - one.low), max(0.0, one.high - one.value))
        for one in figures
        if one.low is not None
        and one.high is not None
        and math.isfinite(one.low)
        and math.isfinite(one.high)
    ]
    if not known:
        return None
    below, above = np.sqrt(np.mean(np.square(known), axis=0)).tolist()
    return below, above
