"""Shares and means over documents or words, and quantiles, each with its interval.

Words of one document may succeed and fail together, so n words carry less information than n
independent ones, and how much less is badly known from a few documents. So their intervals are over
documents, and count with a document that was not seen (``bounded``). A single document says nothing
about others, and has no interval.

Why intervals of quantiles hold for every distribution
    The number of n independent values below the true q-quantile is binomial with probability at
    most q. So an order statistic whose rank is a quantile of that binomial distribution lies below,
    or above, the true quantile with the corresponding probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import (
    ANYTHING,
    CONFIDENCE,
    DIFFERENCE,
    RESAMPLES,
    SHARE,
    Measured,
    Range,
    inside,
)
from sfumato.statistics.bounded import share_within
from sfumato.statistics.intervals import beta_quantile, bootstrap_tail, clopper_pearson

# Numbers that are resampled at a time.
_NUMBERS_AT_A_TIME = 10_000_000


def share_of(metric: str, hits: NDArray[np.bool_]) -> Measured:
    """The share of hits among independent cases, with the exact 95 % interval.

    >>> share_of("found", np.array([True, False])).value
    0.5
    """
    if not len(hits):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    low, high = clopper_pearson(int(hits.sum()), len(hits), CONFIDENCE)
    return Measured(metric, float(hits.mean()), low, high, len(hits), SHARE)


def mean_share(metric: str, values: NDArray[np.float64]) -> Measured:
    """The mean of independent numbers between 0 and 1, with its 95 % interval.

    Each number is treated as the probability of a hit, and the exact interval is that of as many
    hits. A bootstrap interval would be too short where all numbers are equal by luck.

    >>> low = mean_share("met", np.array([0.0] * 8))
    >>> low.value, low.low, round(low.high or 0, 3)
    (0.0, 0.0, 0.369)
    """
    if not len(values):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    share = float(values.mean())
    low, high = _limits(share, len(values))
    return Measured(metric, share, low, high, len(values), SHARE)


def paired_difference(metric: str, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Measured:
    """The difference of the shares of hits in two trials of the same cases, first minus second.

    Only cases where the two differ count. The shares of cases won and lost lie both within their
    limits with 95 %, and so does the difference.

    >>> paired_difference("more", np.array([True] * 5), np.array([False] * 5)).value
    1.0
    """
    if not len(first):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    won, lost = int((first & ~second).sum()), int((second & ~first).sum())
    confidence = 1 - (1 - CONFIDENCE) / 2
    (least, most), (few, many) = (
        clopper_pearson(count, len(first), confidence) for count in (won, lost)
    )
    value = (won - lost) / len(first)
    low, high = (inside(end, DIFFERENCE) for end in (least - many, most - few))
    return Measured(metric, value, low, high, len(first), DIFFERENCE)


def clustered_share(
    metric: str, hits: NDArray[np.bool_] | NDArray[np.float64], clusters: NDArray[np.int64]
) -> Measured:
    """The share of hits, each in a cluster, with its 95 % interval; none for a single cluster.

    A number between 0 and 1 counts as the probability of a hit.

    >>> whole = clustered_share("all", np.array([True] * 8), np.arange(8) // 2)
    >>> whole.value, round(whole.low or 0, 1), whole.high, whole.n  # as four hits of four
    (1.0, 0.4, 1.0, 8)
    """
    if not len(hits):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    share = float(hits.mean())
    _, which, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if len(sizes) == 1:
        return Measured(metric, share, None, None, len(hits), SHARE)
    found = np.bincount(which.reshape(-1), weights=hits.astype(np.float64)).astype(np.float64)
    low, high = share_within(found, sizes.astype(np.float64))
    return Measured(metric, share, low, high, len(hits), SHARE)


def _limits(share: float, count: float) -> tuple[float, float]:
    """Clopper and Pearson's limits for a number of cases that need not be whole."""
    alpha = (1 - CONFIDENCE) / 2
    most, rest = share * count, (1 - share) * count
    low = beta_quantile(alpha, most, rest + 1) if most > 0 else 0.0
    high = 1 - beta_quantile(alpha, rest, most + 1) if rest > 0 else 1.0
    return min(low, share), max(high, share)


def bootstrap_mean(
    metric: str, values: NDArray[np.float64], randomness: Randomness, within: Range = ANYTHING
) -> Measured:
    """The mean of one number a document, with a 95 % interval by resampling documents."""
    sums = np.stack([values, np.ones(len(values))], axis=1)
    mean = lambda totals: totals[:, 0] / totals[:, 1]  # noqa: E731
    return bootstrap_sums(metric, sums, mean, randomness, within)


def bootstrap_sums(
    metric: str,
    sums: NDArray[np.float64],
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    randomness: Randomness,
    within: Range = ANYTHING,
) -> Measured:
    """A figure of sums over documents, with a 95 % interval by resampling documents.

    ``sums`` has a row for each document; ``figure`` computes a number from each row of totals. A
    single document says nothing about others, so there is no interval. Documents that all reach the
    end of a range of shares say no more than as many hits, or misses, of independent trials would.

    >>> share = lambda totals: totals[:, 0] / totals[:, 1]
    >>> bootstrap_sums("share", np.array([[1.0, 4.0]]), share, Randomness.reproducible(1)).value
    0.25
    """
    if not len(sums):
        raise BadInput(f"there is nothing to measure {metric!r} on")
    return figure_of_sums(metric, sums, resample_sums(sums, randomness), figure, within)


def resample_sums(sums: NDArray[np.float64], randomness: Randomness) -> NDArray[np.float64]:
    """The totals of resampled documents, a line for each resample; none of a single document.

    Several figures of the same documents may share them.
    """
    if len(sums) == 1:
        return sums[:0]
    drawn = randomness.integers(len(sums), RESAMPLES * len(sums)).reshape(RESAMPLES, -1)
    pieces = np.array_split(drawn, max(1, drawn.size * sums.shape[1] // _NUMBERS_AT_A_TIME))
    return np.concatenate([sums[some].sum(axis=1) for some in pieces])


def figure_of_sums(
    metric: str,
    sums: NDArray[np.float64],
    resampled: NDArray[np.float64],
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    within: Range = ANYTHING,
) -> Measured:
    """A figure of sums over documents, with a 95 % interval from resampled totals."""
    value = inside(float(figure(sums.sum(axis=0)[None])[0]), within)  # but for rounding
    if len(sums) == 1:
        return Measured(metric, value, None, None, 1, within)
    tail = bootstrap_tail(CONFIDENCE, len(sums))
    low, high = np.quantile(figure(resampled), [tail, 1 - tail]).tolist()
    if within == SHARE and low == high and value in SHARE:
        low, high = _limits(value, len(sums))
    low, high = (inside(end, within) for end in (low, high))
    return Measured(metric, value, low, high, len(sums), within)


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
    # at_most[k] is the log-probability of at most k successes, that is of fewer than k + 1.
    return int(np.searchsorted(at_most, math.log(alpha), side="right"))


def median_interval(values: NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float]:
    """An interval for the median of the distribution of the values, which must be shares.

    With too few values for that confidence it is (0, 1).
    """
    ordered = np.sort(values)
    rank = binomial_below(len(ordered), 0.5, (1 - confidence) / 2)
    if rank == 0:
        return 0.0, 1.0
    return float(ordered[rank - 1]), float(ordered[-rank])
