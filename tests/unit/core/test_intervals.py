"""Wilson's interval against scipy's, and against what every interval must do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from sfumato.core.errors import InvalidArgument
from sfumato.core.intervals import wilson


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
