"""The isotonic fit: against scikit-learn, and what every such fit must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from sfumato.core.errors import InvalidArgument
from sfumato.statistics.isotonic import isotonic, isotonic_rows

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
weighed = st.lists(st.tuples(numbers, st.floats(1e-2, 1e2)), min_size=1, max_size=30)


@given(weighed)
def test_it_is_scikit_learn_s(pairs: list[tuple[float, float]]) -> None:
    values, weights = map(np.array, zip(*pairs, strict=True))
    theirs = (
        IsotonicRegression()
        .fit(np.arange(len(values)), values, weights)
        .predict(np.arange(len(values)))
    )
    assert isotonic(values, weights) == pytest.approx(theirs, rel=1e-9, abs=1e-6)


@given(weighed)
@example([(904233.0, 51.0), (986158.0, 91.0), (0.5, 0.012)])  # a light value beside heavy ones
def test_both_ways_of_computing_agree(pairs: list[tuple[float, float]]) -> None:
    values, weights = map(np.array, zip(*pairs, strict=True))
    rows = np.stack([values, -values, values[::-1]])
    fits = isotonic_rows(rows, weights)
    for one, fit in zip(rows, fits, strict=True):
        assert fit == pytest.approx(isotonic(one, weights), rel=1e-9, abs=1e-6)


@given(weighed)
def test_it_never_falls_keeps_the_mean_and_stays_within_the_values(
    pairs: list[tuple[float, float]],
) -> None:
    values, weights = map(np.array, zip(*pairs, strict=True))
    fit = isotonic(values, weights)
    assert (np.diff(fit) >= 0).all()
    assert fit @ weights == pytest.approx(values @ weights, rel=1e-9, abs=1e-3)
    assert values.min() - 1e-6 <= fit.min()
    assert fit.max() <= values.max() + 1e-6


@given(st.lists(numbers, min_size=1, max_size=30))
def test_what_is_monotone_stays_exactly(values: list[float]) -> None:
    assert isotonic(sorted(values)).tolist() == sorted(values)


@given(st.lists(numbers, min_size=2, max_size=8), st.integers(0, 2**32))
def test_no_other_monotone_sequence_is_nearer(values: list[float], seed: int) -> None:
    fit = isotonic(values)
    others = np.sort(np.random.default_rng(seed).choice(values, (50, len(values))), axis=1)
    mine = np.square(fit - values).sum()
    assert mine <= np.square(others - np.array(values)).sum(axis=1).min() * (1 + 1e-9) + 1e-6


@pytest.mark.parametrize(
    ("values", "weights"),
    [([1.0, float("nan")], None), ([1.0], [0.0]), ([1.0, 2.0], [1.0]), ([[1.0]], None)],
)
def test_what_cannot_be_fitted_is_refused(values: list[float], weights: list[float] | None) -> None:
    with pytest.raises(InvalidArgument, match="isotonic fit"):
        isotonic(values, weights)
