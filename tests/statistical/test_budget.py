"""The budget itself: it is not overspent, it cannot be gone around, and its tests are right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from statistical import budget


def test_the_declared_shares_do_not_exceed_the_budget() -> None:
    assert sum(check.share for check in budget.CHECKS.values()) <= budget.TOTAL
    assert budget.TOTAL == 1e-6


def test_the_levels_of_all_cases_together_do_not_exceed_the_budget() -> None:
    levels = [
        budget.level(name, case) for name, check in budget.CHECKS.items() for case in check.cases
    ]
    assert sum(levels) <= budget.TOTAL * (1 + 1e-12)


def test_every_check_names_its_cases_once() -> None:
    for check in budget.CHECKS.values():
        assert check.cases
        assert len(set(check.cases)) == len(check.cases)


@pytest.mark.parametrize(
    ("check", "case"), [("noise: weather", "d=1"), ("noise: radius", "d=4"), ("", "")]
)
def test_an_undeclared_check_cannot_be_run(check: str, case: str) -> None:
    with pytest.raises(budget.UndeclaredCheck, match="no share"):
        budget.rejects(check, case, [0.5])


def test_nobody_can_declare_a_check_from_outside() -> None:
    with pytest.raises(TypeError):
        budget.CHECKS["noise: weather"] = budget.Check(1.0, ("",))  # type: ignore[index]


def test_more_p_values_make_each_of_them_count_less() -> None:
    allowed = budget.level("noise: radius", "d=1")
    assert budget.rejects("noise: radius", "d=1", [allowed])
    assert not budget.rejects("noise: radius", "d=1", [allowed, 1.0])


@pytest.mark.parametrize("values", [[], [float("nan")], [-0.1], [1.1]])
def test_a_verdict_without_proper_p_values_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="p-values"):
        budget.rejects("noise: radius", "d=1", values)


def test_confidence_bounds_are_the_ends_of_the_exact_binomial_test() -> None:
    hits, draws = np.array([0, 1, 7, 50]), np.full(4, 50)
    for alpha in (1e-10, 0.025):
        low = budget.lower_bounds(hits, draws, alpha)
        high = budget.upper_bounds(hits, draws, alpha)
        assert low[0] == 0.0
        assert high[-1] == 1.0
        assert stats.binom.sf(hits[1:] - 1, 50, low[1:]) == pytest.approx(alpha, rel=1e-6)
        assert stats.binom.cdf(hits[:-1], 50, high[:-1]) == pytest.approx(alpha, rel=1e-6)


def test_the_drift_bound_is_never_below_the_true_chance() -> None:
    # In one dimension the sum of signs is a shifted binomial, so the true chance is known.
    for heads in range(0, 41, 5):
        signs = np.concatenate([np.ones(heads), -np.ones(40 - heads)])[:, None]
        excess = abs(2 * heads - 40)
        true = min(1.0, 2 * stats.binom.sf((40 + excess) // 2 - 1, 40, 0.5))
        assert budget.has_no_drift(signs) >= true
