"""The cost of a search against all outcomes of small mechanisms, counted out.

Every mechanism here has a few outcomes in order, the last one best. The law of the best of K is
computed without any of the proof: every sequence of outcomes is listed and its best one noted, for
each number of trials, and these laws are mixed by the law of K. False claims about searches go
through the same function and must be refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.accounting.selection import (
    BestOfTrials,
    poisson_level,
    ratio_level,
    renyi_ratio_level,
    selected_divergences,
)
from sfumato.accounting.trials import TrialCount
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness

Law = tuple[float, ...]
ORDERS = (1.25, 1.5, 2.0, 4.0, 16.0, 64.0)
# Two laws of an outcome, for two neighbors; the last outcome is the best.
PAIRS: tuple[tuple[Law, Law], ...] = (
    ((0.5, 0.5), (0.25, 0.75)),
    ((0.99, 0.01), (0.98, 0.02)),
    ((0.02, 0.98), (0.01, 0.99)),
    ((0.6, 0.3, 0.1), (0.3, 0.5, 0.2)),
    ((0.1, 0.2, 0.7), (0.2, 0.4, 0.4)),
    ((0.25, 0.25, 0.25, 0.25), (0.1, 0.4, 0.1, 0.4)),
    ((0.9, 0.05, 0.03, 0.02), (0.86, 0.07, 0.05, 0.02)),
)
COUNTS = tuple(
    TrialCount(mean=mean, shape=shape)
    for shape in (-0.3, 0.0, 1.0, 4.0, math.inf)
    for mean in (1.5, 6.0)
)


def divergence(order: float, first: Sequence[float], second: Sequence[float]) -> float:
    with np.errstate(divide="ignore"):
        one, other = np.log(first), np.log(second)
    if (np.isfinite(one) & ~np.isfinite(other)).any():
        return math.inf
    both = np.isfinite(one)
    return float(np.logaddexp.reduce(order * one[both] + (1 - order) * other[both]) / (order - 1))


def delta(epsilon: float, first: Sequence[float], second: Sequence[float]) -> float:
    each = (max(0.0, p - math.exp(epsilon) * q) for p, q in zip(first, second, strict=True))
    return sum(each)


@cache
def laws_of_best(law: Law, most: int) -> list[np.ndarray]:
    """The law of the best of k, for every k up to ``most``; small ones by listing all sequences."""
    size = len(law)
    found = [np.zeros(size)]
    for count in range(1, most + 1):
        now = np.zeros(size)
        if size**count <= 300:
            for outcomes in product(range(size), repeat=count):
                now[max(outcomes)] += math.prod(law[one] for one in outcomes)
        else:  # one more trial: every pair of the best so far and the new one is listed
            for old, new in product(range(size), repeat=2):
                now[max(old, new)] += found[-1][old] * law[new]
        found.append(now)
    return found


@cache
def chances_of(trials: TrialCount) -> np.ndarray:
    return np.array(trials.probabilities(trials.quantile(1 - 1e-11)))


@cache
def best_of_random(law: Law, trials: TrialCount) -> Law:
    """The law of what a search releases; no trial at all is an outcome of its own, the first."""
    chances = chances_of(trials)
    best = np.array(laws_of_best(law, len(chances) - 1))
    total = np.concatenate([[chances[0]], (chances[:, None] * best).sum(axis=0)])
    return tuple(total / total.sum())


def best_of(law: Law, count: int) -> Law:
    return tuple(laws_of_best(law, count)[count])


def both_ways() -> list[tuple[Law, Law]]:
    return [*PAIRS, *((second, first) for first, second in PAIRS)]


Claim = Callable[[TrialCount, Law, Law], Sequence[float]]
Released = Callable[[Law, TrialCount], Law]


def proven(trials: TrialCount, first: Law, second: Law) -> Sequence[float]:
    """The theorems: divergences of one trial in both directions, and deltas."""
    worst = [max(divergence(a, first, second), divergence(a, second, first)) for a in ORDERS]
    deltas = [
        max(delta(poisson_level(a), first, second), delta(poisson_level(a), second, first))
        for a in ORDERS
    ]
    return selected_divergences(trials, ORDERS, worst, deltas)


def violations(claim: Claim, released: Released = best_of_random) -> int:
    """How often a search differs by more than is claimed, over all pairs, laws and orders."""
    found = 0
    for first, second in both_ways():
        for trials in COUNTS:
            one, other = released(first, trials), released(second, trials)
            claimed = claim(trials, first, second)
            for order, bound in zip(ORDERS, claimed, strict=True):
                found += divergence(order, one, other) > bound * (1 + 1e-9) + 1e-9
    return found


def test_the_divergences_of_a_search_are_within_the_theorems() -> None:
    assert violations(proven) == 0


def test_twin_only_the_best_run_is_charged() -> None:
    assert violations(lambda _, p, q: [divergence(order, p, q) for order in ORDERS]) > 0


def test_twin_the_ratio_is_paid_once_too_few() -> None:
    def claim(trials: TrialCount, first: Law, second: Law) -> list[float]:
        worst = [max(divergence(a, first, second), divergence(a, second, first)) for a in ORDERS]
        missing = 0.0 if trials.poisson else renyi_ratio_level(trials, ORDERS, worst)
        return [one - missing for one in proven(trials, first, second)]

    assert violations(claim) > 0


def test_twin_a_fixed_number_of_trials() -> None:
    assert violations(proven, lambda law, trials: best_of(law, round(trials.mean))) > 0


def test_twin_the_number_of_trials_is_told() -> None:
    def told(law: Law, trials: TrialCount) -> Law:
        chances = chances_of(trials)[:200]
        best = np.array(laws_of_best(law, len(chances) - 1))
        return tuple((chances[:, None] * best)[1:].ravel())

    assert violations(proven, told) > 0


def test_twin_the_number_of_trials_follows_from_their_results() -> None:
    def until_good(law: Law, trials: TrialCount) -> Law:
        # One trial, and if that was not the best that can be, as many more as it may take.
        more, last = best_of(law, 60), len(law) - 1
        found = [0.0] * len(law)
        found[last] = law[last]
        for first, later in product(range(last), range(len(law))):
            found[max(first, later)] += law[first] * more[later]
        return tuple(found)

    assert violations(proven, until_good) > 0


def excess(extra: float = 1.0, paid: float = 1.0) -> int:
    """How often delta is more than is proven by the deltas of one trial; with ``extra`` for m."""
    found = 0
    for first, second in both_ways():
        spent = _Discrete(first, second)
        for trials in COUNTS:
            if trials.poisson:
                continue
            one, other = best_of_random(first, trials), best_of_random(second, trials)
            more = paid * (1 + trials.shape) * ratio_level(spent, trials)
            for level in np.linspace(0.0, 1.2, 25).tolist():
                most = trials.charged_mean * extra * delta(level, first, second)
                found += delta(level + more, one, other) > most + 1e-12
    return found


class _Discrete:
    """The delta of one trial, in the worse direction."""

    def __init__(self, first: Law, second: Law) -> None:
        self.first, self.second = first, second

    def epsilon(self, delta: float) -> float:
        raise NotImplementedError

    def delta(self, epsilon: float) -> float:
        return max(delta(epsilon, self.first, self.second), delta(epsilon, self.second, self.first))


def test_the_deltas_of_a_search_are_within_the_proof() -> None:
    assert excess() == 0


def test_twin_the_mean_is_not_paid() -> None:
    assert excess(extra=0.2) > 0


def test_twin_the_ratio_is_not_paid() -> None:
    assert excess(paid=0.0) > 0


@pytest.mark.parametrize("trials", COUNTS, ids=lambda one: f"{one.law}, {one.mean:g}")
def test_the_law_has_its_mean_and_its_slope(trials: TrialCount) -> None:
    chances = chances_of(trials)
    counts = np.arange(len(chances))
    assert chances.sum() == pytest.approx(1.0, abs=1e-9)
    assert (counts * chances).sum() == pytest.approx(trials.mean, rel=1e-6)
    for chance in (0.0, 0.3, 0.9, 1.0):
        slope = sum(c * p * chance ** (c - 1) for c, p in zip(counts[1:], chances[1:], strict=True))
        assert trials.slope(chance) == pytest.approx(slope, rel=1e-6)
        assert trials.slope(chance) <= trials.charged_mean


def test_numbers_are_drawn_by_the_law() -> None:
    # With a fixed seed; the quantiles are far apart.
    source = Randomness.reproducible(20)
    for trials in COUNTS:
        drawn = np.array([trials.draw(source) for _ in range(150)])
        below = trials.quantile(0.9)
        exact = sum(trials.probabilities(below))
        assert abs((drawn <= below).mean() - exact) < 0.12
        assert drawn.min() >= (0 if trials.poisson else 1)


def test_the_library_has_the_same_theorems() -> None:
    from dp_accounting.rdp import rdp_privacy_accountant as library

    # The order 1 is one of those that prove a ratio, and has no bound of its own.
    every = (1.0, 1.5, 2.0, 3.0, 8.0, 32.0)
    for trials in COUNTS:
        if trials.shape < 0:  # the library has none of them
            continue
        orders = every[1:] if trials.poisson else every
        single = [order / 8 for order in orders]
        theirs = library._compute_rdp_repeat_and_select(
            orders, np.array(single), trials.mean, trials.shape
        )
        deltas = [
            library.compute_delta(orders, single, poisson_level(order))[0]
            for order in orders
            if trials.poisson
        ]
        ours = selected_divergences(trials, orders, single, deltas)
        if not trials.poisson:  # the library then uses that divergences grow with the order
            ours = [min(ours[place:]) for place in range(len(ours))]
        assert ours == pytest.approx(list(theirs), rel=1e-6)


def test_a_search_costs_more_than_a_run_and_less_than_all_runs() -> None:
    events = (SampledGaussian(noise_multiplier=1.5, rate=0.1, count=30),)
    for accountant in ("rdp", "pld"):
        single = compute_spending(events, accountant).epsilon(1e-5)
        for law in ("logarithmic", "geometric", "poisson"):
            whole = BestOfTrials(TrialCount.named(law, 8.0), (events,), accountant).epsilon(1e-5)
            assert single < whole < 8 * single
    # The level of settings that differ is that of the worst of them.
    better = (SampledGaussian(noise_multiplier=3.0, rate=0.1, count=30),)
    trials = TrialCount(mean=8.0)
    assert BestOfTrials(trials, (better, events)).epsilon(1e-5) == (
        BestOfTrials(trials, (events,)).epsilon(1e-5)
    )


def test_refusals() -> None:
    for mean, law in ((1.0, "geometric"), (1e9, "geometric"), (8.0, "normal"), (8.0, "-1")):
        with pytest.raises(InvalidArgument):
            TrialCount.named(law, mean)
    with pytest.raises(InvalidArgument, match="at least one setting"):
        BestOfTrials(TrialCount(mean=8.0), ())
    assert (
        BestOfTrials(TrialCount(mean=8.0), ((SampledGaussian(noise_multiplier=0.0),),)).epsilon(
            1e-5
        )
        == math.inf
    )
