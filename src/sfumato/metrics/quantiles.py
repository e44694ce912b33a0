"""Quantiles with what is known about them, without assuming a law.

Why they hold
    How many of n independent values lie below the true q-quantile is binomial with chance q
    (at most), whatever the law. So an order statistic whose rank is a quantile of that binomial
    lies below, or above, the true one with the chance the binomial says.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument


def binomial_below(trials: int, chance: float, alpha: float) -> int:
    """The largest k such that fewer than k successes have a probability of at most ``alpha``.

    >>> binomial_below(10, 0.5, 0.025)
    2
    """
    at_least("trials", trials, 0)
    if not (0 < chance < 1 and 0 < alpha < 1):
        raise InvalidArgument(f"chance={chance} and alpha={alpha} must lie between 0 and 1")
    steps = np.arange(trials, dtype=np.float64)
    ratios = np.log((trials - steps) / (steps + 1)) + math.log(chance / (1 - chance))
    logs = trials * math.log1p(-chance) + np.concatenate([[0.0], np.cumsum(ratios)])
    at_most = np.logaddexp.accumulate(logs)
    # at_most[k] is the log-probability of k successes at most, that is of fewer than k + 1.
    return int(np.searchsorted(at_most, math.log(alpha), side="right"))


def median_interval(values: NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float]:
    """An interval for the median of whatever the values were drawn from.

    With too few values for that confidence it runs from 0 to 1, as shares do.
    """
    ordered = np.sort(values)
    rank = binomial_below(len(ordered), 0.5, (1 - confidence) / 2)
    if rank == 0:
        return 0.0, 1.0
    return float(ordered[rank - 1]), float(ordered[-rank])
