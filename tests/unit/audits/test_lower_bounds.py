"""Lower bounds against published vectors, and their promise against mechanisms that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.audits.lower_bounds import (
    Guesses,
    gaussian_bound,
    gaussian_epsilon,
    one_run_bound,
    two_run_bound,
)
from sfumato.core.errors import InvalidArgument


@pytest.mark.parametrize(
    ("worlds", "ceiling"), [(100, 3.281), (500, 4.906), (1000, 5.601), (5000, 7.212)]
)
def test_a_perfect_attack_shows_no_more_than_its_number_of_worlds_allows(
    worlds: int, ceiling: float
) -> None:
    perfect = Guesses(members=worlds, found=worlds, others=worlds, accused=0)
    assert two_run_bound(perfect).epsilon == pytest.approx(ceiling, abs=5e-4)


@pytest.mark.parametrize(
    ("coins", "guesses", "right", "delta", "expected"),
    [
        (100, 100, 100, 0.0, 3.493),
        (1000, 100, 95, 1e-5, 2.165),
        (1000, 1000, 600, 1e-5, 0.297),
        (5000, 500, 400, 1e-5, 1.195),
        (1000, 1000, 1000, 1e-5, 5.782),
    ],
)
def test_one_run_agrees_with_the_published_vectors(
    coins: int, guesses: int, right: int, delta: float, expected: float
) -> None:
    bound = one_run_bound(coins=coins, guesses=guesses, right=right, delta=delta)
    assert bound.epsilon == pytest.approx(expected, abs=1e-3)


def test_the_gaussian_assumption_shows_more_and_says_that_it_is_one() -> None:
    counts = Guesses(members=500, found=475, others=500, accused=25)
    mu, assumed = gaussian_bound(counts, delta=1e-5)
    assert mu == pytest.approx(2.909, abs=1e-3)
    assert assumed.epsilon == pytest.approx(16.02, abs=1e-2)
    assert "assuming" in assumed.compared
    assert two_run_bound(counts, delta=1e-5).epsilon == pytest.approx(2.54, abs=5e-3)


def test_exchanging_the_worlds_shows_the_same() -> None:
    counts = Guesses(members=200, found=150, others=200, accused=3)
    exchanged = Guesses(members=200, found=197, others=200, accused=50)
    assert two_run_bound(counts).epsilon == pytest.approx(two_run_bound(exchanged).epsilon)


def test_guessing_blindly_shows_nothing() -> None:
    blind = Guesses(members=1000, found=500, others=1000, accused=500)
    assert two_run_bound(blind).epsilon == 0.0
    assert gaussian_bound(blind, delta=1e-5)[1].epsilon == 0.0
    assert one_run_bound(coins=1000, guesses=1000, right=500).epsilon == 0.0
    assert one_run_bound(coins=10, guesses=10, right=0).epsilon == 0.0


def test_a_bound_exceeds_the_truth_no_more_often_than_it_says() -> None:
    """Randomized response of a known ε: over all outcomes, weighted by their probability."""
    epsilon, worlds, confidence = 1.0, 40, 0.9
    right = 1 / (1 + math.exp(-epsilon))
    found = stats.binom.pmf(np.arange(worlds + 1), worlds, right)
    accused = stats.binom.pmf(np.arange(worlds + 1), worlds, 1 - right)
    wrong = doubled = 0.0
    for hits, chance in enumerate(found):
        for slips, other in enumerate(accused):
            counts = Guesses(members=worlds, found=hits, others=worlds, accused=slips)
            bound = two_run_bound(counts, confidence=confidence)
            wrong += chance * other * (bound.epsilon > epsilon)
            # The twin: the claim halved must be refuted far more often than that.
            doubled += chance * other * bound.refutes(epsilon / 4)
    assert wrong <= 1 - confidence
    assert doubled > 0.5


def test_the_one_run_bound_keeps_its_promise_too() -> None:
    epsilon, coins = 0.7, 200
    chances = stats.binom.pmf(np.arange(coins + 1), coins, 1 / (1 + math.exp(-epsilon)))
    bounds = [one_run_bound(coins=coins, guesses=coins, right=v).epsilon for v in range(coins + 1)]
    assert sum(p for p, bound in zip(chances, bounds, strict=True) if bound > epsilon) <= 0.05
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-2])
def test_the_gaussian_curve_is_inverted(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon > 0:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        exact = stats.norm.cdf(near) - math.exp(epsilon + stats.norm.logcdf(far))
        assert gaussian_delta(mu, epsilon) == pytest.approx(exact, rel=1e-6)
        assert exact == pytest.approx(delta, rel=1e-3)
    else:
        assert gaussian_delta(mu, 0.0) <= delta


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="found=5"):
        Guesses(members=4, found=5, others=4, accused=0)
    with pytest.raises(InvalidArgument, match="right"):
        one_run_bound(coins=10, guesses=11, right=3)
    with pytest.raises(InvalidArgument, match="confidence"):
        two_run_bound(Guesses(members=4, found=1, others=4, accused=0), confidence=1.0)
