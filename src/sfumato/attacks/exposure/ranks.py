"""Exposure from scores, and what chance gives.

Guarantee
    For a secret drawn uniformly from the space and never shown to the model,
    P[exposure >= x] <= 2^(−x), whatever the model. The mean is about 1/ln 2 = 1.443 bits.

Why it holds
    The rank of a uniform draw among all candidates is uniform under any fixed score. Ties are
    counted against the attacker: every candidate at least as likely as the canary stands before
    it, the canary itself included, so a tie can only lower the exposure. In the sampled estimator
    the canary counts as one of n + 1 exchangeable draws; without the + 1 a canary better than all
    n would get an infinite exposure with chance 1/(n + 1).

Reference
    Carlini et al. 2019, "The secret sharer".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.core.intervals import clopper_pearson

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def at_least_as_likely(candidates: Floats, surprises: Floats) -> Integers:
    """How many candidates have no larger −log2 p than each of some secrets."""
    return np.searchsorted(np.sort(candidates), surprises, side="right").astype(np.int64)


def exact(ranks: Integers, size: int) -> Floats:
    """log2 of the size of the space − log2 of the rank, 1 being the likeliest.

    >>> exact(np.array([1, 2, 1000]), 1000).round(3).tolist()
    [9.966, 8.966, 0.0]
    """
    bits: Floats = np.log2(size) - np.log2(ranks)
    return bits


def sampled(counts: Integers, draws: int) -> Floats:
    """−log2((c + 1)/(n + 1)), where c of n drawn candidates are at least as likely.

    >>> sampled(np.array([0, 511, 1023]), 1023).tolist()
    [10.0, 1.0, 0.0]
    """
    bits: Floats = np.log2(draws + 1) - np.log2(counts + 1)
    return bits


def sampled_interval(count: int, draws: int, bits: float) -> tuple[float, float]:
    """Clopper and Pearson's limits on the share of likelier candidates, as bits."""
    low, high = clopper_pearson(count, draws)
    # The canary itself is in the space: the share is at least one in its size.
    return -math.log2(high), min(bits, -math.log2(low)) if low > 0 else bits


def mean_by_chance(places: int) -> float:
    """The mean of log2(places) − log2(rank) for a uniform rank.

    >>> round(mean_by_chance(10**6), 3), round(mean_by_chance(2), 3)
    (1.443, 0.5)
    """
    if places > 2**53:  # beyond, a number has no digits left for the difference
        return 1 / math.log(2)
    return math.log2(places) - math.lgamma(places + 1) / (places * math.log(2))
