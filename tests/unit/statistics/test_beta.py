"""The incomplete beta function against scipy's, in both tails."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from sfumato.statistics.intervals import beta_quantile, log_beta_tail

SHAPES = (1.0, 2.0, 7.5, 100.0, 1e4, 1e6)


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
