"""Ranks of order statistics against scipy's binomial."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sfumato.core.errors import InvalidArgument
from sfumato.statistics.shares import binomial_below, median_interval


@given(
    st.integers(0, 400),
    st.floats(0.01, 0.99),
    st.sampled_from([0.001, 0.025, 0.05, 0.5]),
)
def test_the_rank_is_the_largest_that_is_rarely_missed(
    trials: int, chance: float, alpha: float
) -> None:
    rank = binomial_below(trials, chance, alpha)
    assert 0 <= rank <= trials
    assert binom.cdf(rank - 1, trials, chance) <= alpha * (1 + 1e-9)
    if rank < trials:
        assert binom.cdf(rank, trials, chance) > alpha * (1 - 1e-9)


def test_many_trials_do_not_underflow() -> None:
    assert binomial_below(100_000, 0.9, 0.05) == int(binom.ppf(0.05, 100_000, 0.9))


def test_the_interval_of_a_median_is_made_of_two_values() -> None:
    values = np.random.default_rng(1).permutation(np.arange(200.0))
    low, high = median_interval(values)
    # The ranks of the sign test for 200 values: 86 and 115.
    assert (low, high) == (85.0, 114.0)
    assert low < float(np.median(values)) < high


def test_too_few_values_say_nothing() -> None:
    assert median_interval(np.array([0.4, 0.5])) == (0.0, 1.0)
    assert median_interval(np.full(6, 0.5)) == (0.5, 0.5)


@pytest.mark.parametrize(("chance", "alpha"), [(0.0, 0.1), (1.0, 0.1), (0.5, 0.0), (0.5, 1.0)])
def test_what_is_no_chance_is_refused(chance: float, alpha: float) -> None:
    with pytest.raises(InvalidArgument, match="between 0 and 1"):
        binomial_below(10, chance, alpha)
