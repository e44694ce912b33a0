"""Shares over documents, and quantiles with their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.statistics.intervals import clopper_pearson
from sfumato.statistics.shares import binomial_below, clustered_share, median_interval


def test_one_document_says_nothing_about_others() -> None:
    found = clustered_share("top-1", np.array([True, False]), np.zeros(2, np.int64))
    assert (found.value, found.low, found.high, found.n) == (0.5, None, None, 2)


def test_documents_that_are_alike_are_no_surer_than_their_number_allows() -> None:
    hits = np.array([True, False, False, False] * 10)
    few, many = (clustered_share("top-1", hits, np.arange(40) // size) for size in (20, 4))
    widths = [(one.high or 0) - (one.low or 0) for one in (few, many)]
    low, high = clopper_pearson(10, 40)
    assert few.value == many.value == 0.25
    assert widths[0] > 0.8 > widths[1] > high - low


def test_documents_that_succeed_as_a_whole_are_few() -> None:
    clusters = np.arange(1000) // 100
    hits = clusters % 2 == 0
    found = clustered_share("top-1", hits, clusters)
    # As for ten trials, of which half succeed; words would seem to settle the matter.
    assert (found.low, found.high) == pytest.approx(clopper_pearson(5, 10), abs=0.01)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_at_the_ends_each_document_counts_once(share: float) -> None:
    hits = np.full(30, bool(share))
    found = clustered_share("top-1", hits, np.arange(30) // 3)
    assert (found.low, found.high) == pytest.approx(clopper_pearson(int(10 * share), 10), abs=0.01)


def test_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="nothing to measure 'top-1' on"):
        clustered_share("top-1", np.array([], dtype=np.bool_), np.array([], dtype=np.int64))


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
