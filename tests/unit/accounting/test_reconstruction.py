"""The bound on rebuilt records against the closed form, and against the best attack there is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.accounting.reconstruction import most_rebuilt
from sfumato.core.errors import InvalidArgument
from sfumato.training.plan import Plan, silently
from unit.training.runs import small_plan


def gaussian_level(shift: float, delta: float) -> float:
    return gaussian_epsilon(shift, delta) if delta else math.inf


@pytest.mark.parametrize("shift", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("prior", [1e-6, 1e-3, 0.1])
def test_the_bound_is_nearly_the_closed_form_and_never_below(shift: float, prior: float) -> None:
    exact = float(stats.norm.cdf(stats.norm.ppf(prior) + shift))
    found = most_rebuilt(lambda delta: gaussian_level(shift, delta), prior)
    assert exact <= found <= 1.06 * exact


def best_attack(candidates: int, sigma: float) -> float:
    """Which of so many orthogonal unit vectors was released with noise: the largest product."""

    def right(at: float) -> float:
        return float(stats.norm.pdf(at - 1 / sigma) * stats.norm.cdf(at) ** (candidates - 1))

    return float(integrate.quad(right, -12, 12 + 1 / sigma)[0])


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0, 3.0])
def test_no_attack_is_above_the_bound(sigma: float) -> None:
    bound = most_rebuilt(lambda delta: gaussian_level(1 / sigma, delta), 1 / 128)
    assert best_attack(128, sigma) <= bound
    if sigma <= 0.5:  # a twin: half the shift, as if the noise were twice as large
        twin = most_rebuilt(lambda delta: gaussian_level(0.5 / sigma, delta), 1 / 128)
        assert best_attack(128, sigma) > twin


def test_a_plan_bounds_what_can_be_rebuilt() -> None:
    plan = small_plan(units=100, batch_size=10, steps=20, noise=1.0)
    bounds = [plan.most_rebuilt(prior) for prior in (1e-6, 1e-4, 1e-2)]
    assert all(np.diff(bounds) > 0)
    assert all(prior < one <= 1 for prior, one in zip((1e-6, 1e-4, 1e-2), bounds, strict=True))
    # With a level alone, at the plan's own delta, the bound is worse.
    simple = math.exp(plan.epsilon()) * 1e-2 + float(plan.delta)
    assert bounds[-1] <= simple
    exchanged = small_plan(units=100, batch_size=10, steps=20, noise=1.0, neighbors="replacement")
    assert exchanged.most_rebuilt(1e-2) == bounds[-1]
    with pytest.raises(InvalidArgument, match="strictly between"):
        plan.most_rebuilt(0.0)


def test_an_accountant_without_an_answer_for_a_small_delta_is_asked_for_others() -> None:
    usual = small_plan(units=1000, batch_size=10, steps=20_000, noise=40.0)
    many = silently(usual, accountant="pld")
    assert 1e-2 < many.most_rebuilt(1e-2) < 1


def test_without_noise_everything_can_be_rebuilt() -> None:
    plan = Plan.for_epsilon(epsilon=math.inf, units=100, batch_size=10, epochs=1)
    assert plan.most_rebuilt(1e-6) == 1.0
