"""Weighted isotonic regression: the nearest sequence that never decreases.

The fit assumes nothing but monotonicity: it has no parameters and no formula, and where the values
go up and down they are averaged. Curves of leakage use it, because more noise cannot leak more.

Reference
    Ayer et al. 1955, "An empirical distribution function for sampling with incomplete information"
    (pool adjacent violators); Robertson, Wright and Dykstra 1988, "Order restricted statistical
    inference" (the formula by maxima and minima).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """The sequence that never falls and is nearest to ``values`` in weighted squares.

    >>> isotonic([1.0, 3.0, 2.0, 4.0]).tolist()
    [1.0, 2.5, 2.5, 4.0]
    >>> isotonic([3.0, 0.0], weights=[1.0, 2.0]).tolist()
    [1.0, 1.0]
    """
    given, heavy = _check(values, weights)
    # Blocks of neighbors that have been averaged: mean, weight, how many.
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(given.tolist(), heavy.tolist(), strict=True):
        means.append(value)
        masses.append(weight)
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            mean, mass, size = means.pop(), masses.pop(), sizes.pop()
            both = masses[-1] + mass
            # As a step from one mean towards the other, so that equal means stay exactly equal.
            means[-1] += (mean - means[-1]) * (mass / both)
            masses[-1], sizes[-1] = both, sizes[-1] + size
    return np.repeat(np.array(means, dtype=np.float64), np.array(sizes, dtype=np.intp))


def isotonic_rows(rows: Floats, weights: ArrayLike) -> Floats:
    """The same for every row of a matrix at once.

    The fit at position i is the maximum over all starts a <= i of the minimum over all ends b >= i
    of the mean from a to b.
    """
    heavy = np.asarray(weights, dtype=np.float64)
    weighed = rows * heavy
    fitted = np.full(rows.shape, -np.inf)
    for start in range(rows.shape[1]):
        # Added up anew from each start: a difference of two long sums would lose the digits of a
        # light value beside heavy ones.
        means = np.cumsum(weighed[:, start:], axis=1) / np.cumsum(heavy[start:])
        smallest = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        np.maximum(fitted[:, start:], smallest, out=fitted[:, start:])
    return fitted


def _check(values: ArrayLike, weights: ArrayLike | None) -> tuple[Floats, Floats]:
    given = np.asarray(values, dtype=np.float64)
    heavy = np.ones(given.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if given.ndim != 1 or heavy.shape != given.shape:
        raise InvalidArgument("an isotonic fit needs one sequence of values, a weight for each")
    if not (np.isfinite(given).all() and np.isfinite(heavy).all() and (heavy > 0).all()):
        raise InvalidArgument("an isotonic fit needs finite values and positive, finite weights")
    return given, heavy
