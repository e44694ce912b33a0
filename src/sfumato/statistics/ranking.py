"""How well scores tell two groups apart: ROC, AUC, advantage, hits at few false alarms.

``members`` and ``others`` are scores; a higher score means member. Ties count one half in the AUC
and never help at a threshold.

Intervals
    AUC: a bootstrap that draws members and others separately (expanded percentiles). If every
    member scores above every other, the bootstrap gives a single point; then the limit is Clopper
    and Pearson's for min(n, m) independent pairs, all in the right order. Shares at a threshold:
    Clopper and Pearson, with a threshold that was fixed in advance. Hits at few false alarms: the
    threshold is uncertain too, so its own interval (order statistics, any continuous distribution)
    is combined with that of the share.

Reference
    Fawcett 2006, "An introduction to ROC analysis"; Carlini et al. 2022, "Membership inference
    attacks from first principles", for hits at few false alarms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import CONFIDENCE, DIFFERENCE, RESAMPLES, SHARE, Measured
from sfumato.statistics.intervals import (
    bootstrap_tail,
    clopper_pearson,
    log_beta_tail,
    lower_limit,
    upper_limit,
)

# Numbers held at once while resampling.
CELLS = 1 << 22
# The error probability of each end of an interval; half of it where two limits are combined.
TAIL = (1 - CONFIDENCE) / 2


def auc(members: Floats, others: Floats) -> float:
    """The probability that a member scores above an other; a tie counts one half.

    >>> auc(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    high, low = _check(members, others)
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, side="left")
    not_above = np.searchsorted(ordered, high, side="right")
    return float((below + not_above).sum() / (2 * len(high) * len(low)))


def measure_auc(metric: str, members: Floats, others: Floats, randomness: Randomness) -> Measured:
    """The AUC with its interval."""
    return group_auc(metric, [(members, others)], randomness)


def group_auc(metric: str, groups: list[tuple[Floats, Floats]], randomness: Randomness) -> Measured:
    """The mean AUC over groups whose scores are not comparable with each other, such as folds."""
    if not groups:
        raise InvalidArgument("an AUC needs at least one group of scores")
    value = float(np.mean([auc(*group) for group in groups]))
    drawn = np.mean([_resample(*group, randomness) for group in groups], axis=0)
    pairs = sum(min(len(members), len(others)) for members, others in groups)
    tail = bootstrap_tail(CONFIDENCE, pairs)
    low, high = (float(end) for end in np.quantile(drawn, [tail, 1 - tail]))
    if low == high == 1.0:
        low = lower_limit(pairs, pairs, TAIL)
    if low == high == 0.0:
        high = upper_limit(0, pairs, TAIL)
    n = sum(len(members) + len(others) for members, others in groups)
    return Measured(metric, value, low, high, n, SHARE)


def advantage(metric: str, members: Floats, others: Floats, randomness: Randomness) -> Measured:
    """TPR − FPR at the threshold that is best on one half, measured on the other half.

    If the threshold were chosen and measured on the same scores, the result would be positive even
    for scores without information.
    """
    high, low = _check(members, others)
    if min(len(high), len(low)) < 2:
        raise BadInput(f"{metric} needs two members and two others, to choose a threshold on one")
    first, second = _halves(high, randomness)
    third, fourth = _halves(low, randomness)
    threshold = best_threshold(first, third)
    return advantage_of(metric, second > threshold, fourth > threshold)


def advantage_of(metric: str, hits: NDArray[np.bool_], false_alarms: NDArray[np.bool_]) -> Measured:
    """TPR − FPR of decisions that were made without looking at these members and others."""
    if not len(hits) or not len(false_alarms):
        raise BadInput(f"{metric} needs at least one member and one other")
    value = float(hits.mean() - false_alarms.mean())
    low, high = _difference(hits, false_alarms)
    return Measured(metric, value, low, high, len(hits) + len(false_alarms), DIFFERENCE)


def best_threshold(members: Floats, others: Floats) -> float:
    """The threshold above which TPR − FPR is largest; halfway to the next score, or infinite.

    >>> best_threshold(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    2.5
    """
    high, low = np.sort(members), np.sort(others)
    steps = np.unique(np.concatenate([high, low]))
    between = steps[:-1] / 2 + steps[1:] / 2
    # Rounding must not move the middle of two neighboring numbers up to the upper one.
    middles = np.where(between < steps[1:], between, steps[:-1])
    cuts = np.concatenate([[-np.inf], middles, [np.inf]])
    gained = (len(high) - np.searchsorted(high, cuts, side="right")) / len(high)
    lost = (len(low) - np.searchsorted(low, cuts, side="right")) / len(low)
    return float(cuts[np.argmax(gained - lost)])


def accuracy_at_median(metric: str, members: Floats, others: Floats) -> Measured:
    """The mean of TPR and 1 − FPR if the upper half of all scores are called members.

    Both sides have the same weight, whatever their sizes. With as many members as others the
    threshold is the median, and the figure is the share of right decisions. Scores that tie with
    the threshold go to the side that makes the halves more equal.

    >>> found = accuracy_at_median("accuracy", np.array([1.0, 1.0, 0.5]), np.array([0.5, 0.0, 0.1]))
    >>> round(found.value, 3)
    0.833
    """
    high, low = _check(members, others)
    cuts = np.concatenate([[-np.inf], np.unique(np.concatenate([high, low]))])
    shares = (
        np.searchsorted(np.sort(side), cuts, side="right") / len(side) for side in (high, low)
    )
    cut = cuts[np.argmin(np.abs(sum(shares) - 1))]
    hits, alarms = high > cut, low > cut
    value = float(1 + hits.mean() - alarms.mean()) / 2
    least, most = _difference(hits, alarms)
    return Measured(metric, value, (1 + least) / 2, (1 + most) / 2, len(high) + len(low), SHARE)


def smallest_rate(others: int) -> float:
    """The smallest false-alarm rate that can be measured with so many others: 1 / others.

    >>> smallest_rate(200)
    0.005
    """
    return 1 / at_least("others", others, 1)


def hits_at(metric: str, members: Floats, others: Floats, rate: float) -> Measured:
    """The share of members above a threshold that at most ``rate`` of the others exceed."""
    high, low = _check(members, others)
    if not smallest_rate(len(low)) <= rate * (1 + 1e-9) < 1:
        raise InvalidArgument(
            f"rate={rate:g}: {len(low)} others show false-alarm rates from "
            f"{smallest_rate(len(low)):g} to 1; give at least {math.ceil(1 / rate)} others"
        )
    falling = np.sort(low)[::-1]
    allowed = math.floor(rate * len(low) + 1e-9)
    value = float((high > falling[allowed]).mean())
    surely, possibly = _exceeding(len(low), rate)
    above = math.inf if surely == 0 else float(falling[surely - 1])
    below = -math.inf if possibly > len(low) else float(falling[possibly - 1])
    least = lower_limit(int((high > above).sum()), len(high), TAIL / 2)
    most = upper_limit(int((high > below).sum()), len(high), TAIL / 2)
    return Measured(metric, value, least, most, len(high) + len(low), SHARE)


def roc_points(members: Floats, others: Floats, most: int = 200) -> list[tuple[float, float]]:
    """(FPR, TPR) at every threshold from the strictest on, thinned evenly on a logarithmic axis.

    >>> roc_points(np.array([3.0, 1.0]), np.array([2.0, 0.0]))
    [(0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]
    """
    high, low = _check(members, others)
    cuts = np.unique(np.concatenate([high, low]))[::-1]
    hits = len(high) - np.searchsorted(np.sort(high), cuts, side="left")
    alarms = len(low) - np.searchsorted(np.sort(low), cuts, side="left")
    points = [(0.0, 0.0)]
    points += zip((alarms / len(low)).tolist(), (hits / len(high)).tolist(), strict=True)
    if len(points) <= most:
        return points
    # A logarithmic axis shows the strict end, so points are dense there.
    kept = np.unique(np.geomspace(1, len(points), most).astype(int)) - 1
    return [points[place] for place in kept.tolist()]


def _check(members: Floats, others: Floats) -> tuple[Floats, Floats]:
    high, low = np.asarray(members, np.float64), np.asarray(others, np.float64)
    if not len(high) or not len(low):
        raise BadInput(
            f"{len(high)} members and {len(low)} others: both are needed to compare them"
        )
    if np.isnan(high).any() or np.isnan(low).any():
        raise BadInput("a score is not a number; give such a text a neutral score")
    return high, low


def _halves(values: Floats, randomness: Randomness) -> tuple[Floats, Floats]:
    chosen = np.zeros(len(values), dtype=np.bool_)
    chosen[randomness.choose(len(values), len(values) // 2)] = True
    return values[chosen], values[~chosen]


def _resample(members: Floats, others: Floats, randomness: Randomness) -> Floats:
    """The AUC of many bootstrap samples, from the counts of each value."""
    values, places = np.unique(np.concatenate([members, others]), return_inverse=True)
    high, low = places[: len(members)], places[len(members) :]
    found, together = [], max(1, CELLS // max(len(values), len(members), len(others)))
    for start in range(0, RESAMPLES, together):
        rounds = min(together, RESAMPLES - start)
        above = _counts(high, rounds, len(values), randomness)
        below = _counts(low, rounds, len(values), randomness)
        # For each value the number of others below it, plus half of those equal to it.
        credit = np.cumsum(below, axis=1) - below / 2
        found.append((above * credit).sum(axis=1) / (len(members) * len(others)))
    return np.concatenate(found)


def _counts(
    places: NDArray[np.intp], rounds: int, values: int, randomness: Randomness
) -> NDArray[np.intp]:
    drawn = places[randomness.integers(len(places), rounds * len(places))].reshape(rounds, -1)
    drawn = drawn + np.arange(rounds)[:, None] * values
    return np.bincount(drawn.ravel(), minlength=rounds * values).reshape(rounds, values)


def _difference(hits: NDArray[np.bool_], false_alarms: NDArray[np.bool_]) -> tuple[float, float]:
    """The interval of a difference, from two intervals that hold simultaneously."""
    confidence = 1 - (1 - CONFIDENCE) / 2
    most, least = clopper_pearson(int(hits.sum()), len(hits), confidence)[::-1]
    up, down = clopper_pearson(int(false_alarms.sum()), len(false_alarms), confidence)[::-1]
    return least - up, most - down


def _exceeding(others: int, rate: float) -> tuple[int, int]:
    """Bounds on how many others exceed the true threshold of that rate.

    Their number is binomial. The first count is reached, and the second is not, each with
    probability at least 1 − TAIL / 2.
    """

    def reached(count: int) -> float:
        if count <= 0:
            return 1.0
        return math.exp(log_beta_tail(rate, count, others - count + 1)) if count <= others else 0.0

    surely = math.floor(rate * others)
    while 1 - reached(surely) > TAIL / 2:
        surely -= 1
    possibly = max(1, math.floor(rate * others))
    while reached(possibly) > TAIL / 2:
        possibly += 1
    return surely, possibly


def derangement(count: int, randomness: Randomness) -> NDArray[np.intp]:
    """A random permutation in which nothing stays in its place, if there are two or more.

    >>> sorted(derangement(3, Randomness.reproducible(1)).tolist())
    [0, 1, 2]
    """
    order = np.argsort(randomness.uniform(count), kind="stable")
    moved = np.empty(count, dtype=np.intp)
    moved[order] = np.roll(order, 1)
    return moved
