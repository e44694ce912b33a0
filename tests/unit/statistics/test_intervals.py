"""Intervals for shares, and the incomplete beta function behind them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.stats import beta, binom, binomtest

from sfumato.core.errors import InvalidArgument
from sfumato.statistics.intervals import (
    beta_quantile,
    clopper_pearson,
    log_beta_tail,
    lower_limit,
    upper_limit,
    wilson,
)

SHAPES = (1.0, 2.0, 7.5, 100.0, 1e4, 1e6)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_is_the_interval_of_scipy(counts: tuple[int, int]) -> None:
    successes, trials = counts
    expected = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    low, high = wilson(successes, trials)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)


def test_the_simple_interval_would_be_caught() -> None:
    # The normal approximation has no width when all succeed; Wilson's has.
    assert wilson(20, 20)[0] < 0.9


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.5, 0.8, 0.95, 0.999]))
def test_the_share_lies_inside(successes: int, failures: int, confidence: float) -> None:
    low, high = wilson(successes, successes + failures, confidence)
    assert 0 <= low <= high <= 1
    if successes + failures:
        assert low <= successes / (successes + failures) <= high


def test_without_trials_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("successes", "trials", "confidence"),
    [(-1, 5, 0.95), (6, 5, 0.95), (1, -1, 0.95), (1, 5, 0.0), (1, 5, 1.0)],
)
def test_what_cannot_be_a_share_is_refused(successes: int, trials: int, confidence: float) -> None:
    with pytest.raises(InvalidArgument):
        wilson(successes, trials, confidence)


# --- Clopper and Pearson -----------------------------------------------------------------------

TRIALS = (1, 2, 3, 10, 97, 1000, 20_000, 1_000_000)
ALPHAS = (1e-12, 1e-7, 1e-3, 0.025, 0.3)


@pytest.mark.parametrize("trials", TRIALS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_sided_limits_are_those_of_scipy(trials: int, alpha: float) -> None:
    for successes in sorted({0, 1, trials // 3, trials // 2, trials - 1, trials}):
        low = 0.0 if successes == 0 else beta.ppf(alpha, successes, trials - successes + 1)
        high = 1.0 if successes == trials else beta.isf(alpha, successes + 1, trials - successes)
        assert lower_limit(successes, trials, alpha) == pytest.approx(low, abs=1e-9)
        assert upper_limit(successes, trials, alpha) == pytest.approx(high, abs=1e-9)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_exact_interval_is_that_of_scipy(counts: tuple[int, int]) -> None:
    successes, trials = counts
    expected = binomtest(successes, trials).proportion_ci(0.99, method="exact")
    low, high = clopper_pearson(successes, trials, 0.99)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.93])
@pytest.mark.parametrize("trials", [1, 20, 300])
def test_a_limit_is_wrong_no_more_often_than_stated(share: float, trials: int) -> None:
    # Not by sampling: every outcome is gone through, with its exact probability.
    alpha = 0.05
    chances = binom.pmf(range(trials + 1), trials, share)
    too_high = sum(chances[k] for k in range(trials + 1) if lower_limit(k, trials, alpha) > share)
    too_low = sum(chances[k] for k in range(trials + 1) if upper_limit(k, trials, alpha) < share)
    assert too_high <= alpha
    assert too_low <= alpha


def test_wilson_in_its_place_would_be_wrong_too_often() -> None:
    # The twin: an approximate interval errs far above its level for a rare event.
    share, trials = 0.0005, 300
    chances = binom.pmf(range(trials + 1), trials, share)
    wrong = sum(chances[k] for k in range(trials + 1) if wilson(k, trials, 0.9)[0] > share)
    assert wrong > 0.05


@pytest.mark.parametrize(("successes", "trials", "alpha"), [(-1, 5, 0.1), (6, 5, 0.1), (1, 5, 0)])
def test_what_cannot_be_a_limit_is_refused(successes: int, trials: int, alpha: float) -> None:
    for limit in (lower_limit, upper_limit):
        with pytest.raises(InvalidArgument):
            limit(successes, trials, alpha)


def test_an_impossible_count_is_named_as_it_was_given() -> None:
    with pytest.raises(InvalidArgument, match="successes=6 must not exceed trials=5"):
        upper_limit(6, 5, 0.1)


@pytest.mark.parametrize("a", SHAPES)
@pytest.mark.parametrize("b", SHAPES)
def test_it_is_the_function_of_scipy(a: float, b: float) -> None:
    for x in (1e-9, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-6, a / (a + b)):
        expected = float(special.betainc(a, b, x))
        assert math.exp(log_beta_tail(x, a, b)) == pytest.approx(expected, rel=1e-8, abs=1e-15)


def test_a_very_small_tail_keeps_its_digits() -> None:
    # P[Bin(1000, 0.1) >= 300]: about 1e-71, far below what 1 minus something could hold.
    expected = float(stats.binom.logsf(299, 1000, 0.1))
    assert log_beta_tail(0.1, 300, 701) == pytest.approx(expected, rel=1e-12)


def test_the_ends_are_exact() -> None:
    assert log_beta_tail(0.0, 2.0, 3.0) == -math.inf
    assert log_beta_tail(1.0, 2.0, 3.0) == 0.0


@given(
    st.floats(1e-12, 1 - 1e-6), st.floats(1, 1e5), st.floats(1, 1e5)
)  # fmt: skip
def test_the_quantile_undoes_the_function(share: float, a: float, b: float) -> None:
    x = beta_quantile(share, a, b)
    assert 0 < x < 1
    assert math.exp(log_beta_tail(x, a, b)) == pytest.approx(share, rel=1e-6, abs=1e-12)
