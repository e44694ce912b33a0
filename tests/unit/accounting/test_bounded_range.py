"""Draws by scores from a window: the level against all corners, composition by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.bounded_range import (
    concentration,
    divergences,
    exact_level,
    least_delta,
    least_level,
    widest_range,
)
from sfumato.accounting.events import BoundedRange, SampledGaussian, merge
from sfumato.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_noise
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument

ORDERS = np.array([1.001, 1.5, 2.0, 5.0, 20.0, 300.0])
RANGES = (1e-3, 0.1, 1.0, 4.0, 16.0, 30.0)


def chances(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return found


def corners(width: float, outcomes: int) -> Floats:
    """The distributions of all scores that are 0 or ``width`` everywhere."""
    return chances(width * np.array(list(product((0.0, 1.0), repeat=outcomes))))


def largest_loss(width: float, outcomes: int) -> float:
    logs = np.log(corners(width, outcomes))
    return float((logs[:, None] - logs[None]).max())


def divergence(first: Floats, second: Floats, order: float) -> float:
    logs = order * np.log(first) + (1 - order) * np.log(second)
    top = logs.max()
    return float((top + np.log(np.exp(logs - top).sum())) / (order - 1))


def true_delta(first: Floats, second: Floats, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum())


@pytest.mark.parametrize("outcomes", [2, 3, 4, 5])
@pytest.mark.parametrize("width", RANGES)
def test_one_draw_costs_what_the_worst_corner_costs(width: float, outcomes: int) -> None:
    found = exact_level(width, outcomes)
    assert found == pytest.approx(largest_loss(width, outcomes), abs=1e-9, rel=1e-12)
    assert found <= 2 * width * (1 + 1e-12)


def test_the_window_alone_would_be_no_level() -> None:
    # The twin: a level of R, as if only the numerator depended on the input.
    assert largest_loss(1.0, 4) > 1.0


@pytest.mark.parametrize("shift", [1e-3, 0.1, 1.0])
def test_scores_of_any_size_cost_twice_what_they_move_by(shift: float) -> None:
    event = BoundedRange(range=shift, outcomes=None)
    assert exact_level(shift, None) == pytest.approx(2 * shift)
    allowed, reached = divergences(event, ORDERS), 0.0
    for height in (-25.0, -3.0, -0.5, 0.0, 0.5, 3.0):
        base = np.array([height, 0.0, 0.0])
        for signs in product((-1.0, 1.0), repeat=3):
            first, second = chances(base + shift * np.array(signs)), chances(base)
            loss = float(np.abs(np.log(first) - np.log(second)).max())
            assert loss <= exact_level(shift, None) + 1e-12
            reached = max(reached, loss)
            for order, bound in zip(ORDERS, allowed, strict=True):
                assert divergence(first, second, order) <= bound + 1e-9
    # The twin: the level of a window is exceeded.
    assert reached > max(exact_level(shift, 3), 1.99 * shift)


@given(
    st.floats(0.001, 30.0),
    st.integers(2, 6),
    st.lists(st.floats(0, 1), min_size=12, max_size=12),
)
def test_no_scores_inside_the_window_cost_more(
    width: float, outcomes: int, places: list[float]
) -> None:
    scores = width * np.array(places).reshape(2, 6)[:, :outcomes]
    first, second = np.log(chances(scores))
    assert float(np.abs(first - second).max()) <= exact_level(width, outcomes) + 1e-9


@pytest.mark.parametrize(("width", "wanted"), [(1.0, 37.9), (4.0, 216.6), (16.0, 857.5)])
def test_the_figures_of_thirty_two_tokens(width: float, wanted: float) -> None:
    event = BoundedRange(range=width, outcomes=49_152, count=32)
    assert least_level([event], 1e-5).epsilon == pytest.approx(wanted, abs=0.05)


def test_the_least_proof_is_named() -> None:
    def proof(width: float, count: int, delta: float) -> str:
        event = BoundedRange(range=width, outcomes=49_152, count=count)
        return least_level([event], delta).accountant

    assert proof(16.0, 32, 1e-5) == "pure"
    assert proof(4.0, 32, 1e-5) == "rdp"
    assert proof(4.0, 32, 0.0) == "pure"
    rho = concentration([BoundedRange(range=1.0, outcomes=9, count=32)])
    assert rho == pytest.approx(16.0)
    spent = compute_spending([BoundedRange(range=1.0, outcomes=49_152, count=32)], "zcdp")
    assert spent.epsilon(1e-5) == pytest.approx(41.6, abs=0.05)
    assert spent.delta(spent.epsilon(1e-5)) == pytest.approx(1e-5, rel=1e-3)


def exceeded(bound: Callable[[float, int], Floats]) -> bool:
    """Whether a corner, or a pair with many outcomes, exceeds a bound on divergences."""
    for width, outcomes in ((0.3, 4), (1.0, 5), (4.0, 4), (12.0, 5)):
        allowed = bound(width, outcomes)
        rows = corners(width, outcomes)
        for first in rows:
            for second in rows:
                found = [divergence(first, second, order) for order in ORDERS]
                if (np.array(found) > allowed * (1 + 1e-9) + 1e-12).any():
                    return True
    return False


def test_no_corner_exceeds_the_divergences() -> None:
    def ours(width: float, outcomes: int) -> Floats:
        return divergences(BoundedRange(range=width, outcomes=outcomes), ORDERS)

    assert not exceeded(ours)


def test_a_range_of_the_window_instead_of_the_log_ratio_is_refuted() -> None:
    # The twin: ρ = R²/8, which takes the width of the window for the range of the log-ratio.
    assert exceeded(lambda width, _: ORDERS * width**2 / 8)


@pytest.mark.parametrize("width", [0.2, 1.0, 3.0])
def test_some_scores_over_many_outcomes_reach_the_divergences(width: float) -> None:
    outcomes = 1500
    allowed = divergences(BoundedRange(range=width, outcomes=outcomes), ORDERS)
    best = np.zeros(len(ORDERS))
    for share in np.geomspace(1 / outcomes, 0.999, 150):
        inside = np.arange(outcomes) < max(1, round(share * outcomes))
        first, second = chances(width * inside), chances(width * ~inside)
        best = np.maximum(best, [divergence(first, second, order) for order in ORDERS])
    assert (best <= allowed * (1 + 1e-9)).all()
    assert (best >= 0.99 * allowed).all()


@pytest.mark.parametrize("width", [0.5, 1.5])
def test_draws_that_depend_on_those_before_stay_within_delta(width: float) -> None:
    generator, outcomes = np.random.default_rng(4), 3
    event = BoundedRange(range=width, outcomes=outcomes, count=3)
    for _ in range(40):
        joint = np.ones((2, 1))
        for step in range(3):
            # Every history has corners of its own, for both inputs.
            scores = width * generator.choice([0.0, 1.0], (2, outcomes**step, outcomes))
            joint = (joint[:, :, None] * chances(scores)).reshape(2, -1)
        for epsilon in (0.3, 1.0, 2.5):
            allowed = least_delta([event], epsilon)
            assert true_delta(joint[0], joint[1], epsilon) <= allowed + 1e-12
    assert least_delta([event], least_level([event]).epsilon) == 0.0


@pytest.mark.parametrize("outcomes", [2, 3, 49_152, 10**6])
def test_levels_and_divergences_stay_finite_and_in_order(outcomes: int) -> None:
    widths = np.concatenate([np.geomspace(1e-9, 1.0, 12), np.linspace(1.5, 30.0, 30)])
    levels = [exact_level(float(width), outcomes) for width in widths]
    assert levels == sorted(levels)
    orders = np.concatenate([1 + np.geomspace(1e-4, 1e7, 60)])
    for width, level in zip(widths, levels, strict=True):
        found = divergences(BoundedRange(range=float(width), outcomes=outcomes), orders)
        assert np.isfinite(found).all()
        assert (np.diff(found) >= -1e-9 * found[1:] - 1e-9).all()
        assert (found <= level).all()
        assert (found <= orders * width**2 / 2 * (1 + 1e-13)).all()


NARROW = [float(width) for width in np.geomspace(1e-9, 1.0, 13)]
FEW_ORDERS: Floats = 1 + np.geomspace(1e-4, 1e7, 12)


def exact_divergence(width: float, order: float) -> Decimal:
    """The bound of the module's proof for many outcomes, to fifty digits."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, MAX_EMAX, MIN_EMIN
        around, alpha, one = 2 * Decimal(width), Decimal(order), Decimal(1)
        first, second = one - (-around * alpha).exp(), (-around).exp() - (-around * alpha).exp()
        place = min((first * (alpha - 1) / (second * alpha)).ln(), around)
        grown = first * (place * (alpha - 1)).exp() - second * (place * alpha).exp()
        return (grown / (one - (-around).exp())).ln() / (alpha - 1)


def digits_lost(width: float, orders: Floats) -> Floats:
    """Sabotage: a difference of two numbers that are nearly equal in a narrow window."""
    around, above = 2 * width, orders - 1
    place = around + np.log(np.expm1(-around * orders) / np.expm1(-around * above))
    place = np.clip(place + np.log(above / orders), 0.0, around)
    left = -np.expm1(place - around) + np.exp(place - around * orders) - np.exp(-around * orders)
    logs: Floats = above * place + np.log(left) - math.log(-math.expm1(-around))
    return np.maximum(logs / above + 1e-14 * (1 + around) * (1 + 1 / above), 0.0)


def count_too_small(bound: Callable[[float, Floats], Floats]) -> int:
    """At how many windows and orders a bound is below what it should bound."""
    return sum(
        Decimal(float(one)) < exact_divergence(width, float(order))
        for width in NARROW
        for one, order in zip(bound(width, FEW_ORDERS), FEW_ORDERS, strict=True)
    )


def test_no_divergence_is_rounded_down_in_a_narrow_window() -> None:
    def found(width: float, orders: Floats) -> Floats:
        return divergences(BoundedRange(range=width, outcomes=None), orders)

    assert count_too_small(found) == 0
    assert count_too_small(digits_lost) > 0


@given(st.floats(1e-6, 38.0), st.integers(3, 10**6))
def test_the_widest_range_is_the_inverse_of_the_level(epsilon: float, outcomes: int) -> None:
    if epsilon > exact_level(30.0, outcomes):
        return
    width = widest_range(epsilon, outcomes)
    assert exact_level(width, outcomes) <= epsilon
    assert width == 30.0 or exact_level(width * (1 + 1e-9) + 1e-15, outcomes) > epsilon * (
        1 - 1e-12
    )


def test_what_no_draw_can_hold_is_refused_with_the_reason() -> None:
    with pytest.raises(InvalidArgument, match="below 1e-16"):
        BoundedRange(range=30.1, outcomes=10)
    with pytest.raises(InvalidArgument, match="outcomes"):
        BoundedRange(range=1.0, outcomes=1)
    with pytest.raises(InvalidArgument, match="more than one draw"):
        widest_range(60.0, 100)
    assert least_level([BoundedRange(range=0.0, outcomes=9, count=5)], 1e-5).epsilon == 0.0


def test_accountants_take_draws_beside_gaussian_releases() -> None:
    draw = BoundedRange(range=1.0, outcomes=1000, count=8)
    noise = SampledGaussian(noise_multiplier=2.0)
    assert merge([draw, draw]) == (BoundedRange(range=1.0, outcomes=1000, count=16),)
    for accountant in ("rdp", "zcdp", "pure"):
        alone = [compute_spending([one], accountant).epsilon(1e-5) for one in (draw, noise)]
        both = compute_spending([draw, noise], accountant).epsilon(1e-5)
        assert max(alone) < both <= sum(alone) * (1 + 1e-9)
    assert compute_spending([draw], "pure").epsilon(0.0) == least_level([draw]).epsilon
    close = compute_spending([draw], "rdp").epsilon(1e-5)
    assert close == pytest.approx(least_level([draw], 1e-5).epsilon, rel=0.01)


def test_accountants_refuse_what_they_cannot_state() -> None:
    with pytest.raises(InvalidArgument, match="rdp, zcdp or pure"):
        compute_spending([BoundedRange(range=1.0, outcomes=9)])
    with pytest.raises(InvalidArgument, match="sampling"):
        compute_spending([SampledGaussian(noise_multiplier=1.0, rate=0.1)], "zcdp")


def test_zcdp_of_gaussian_noise_is_near_its_closed_form() -> None:
    spent = compute_spending([SampledGaussian(noise_multiplier=2.0, count=4)], "zcdp")
    assert gaussian_epsilon(1.0, 1e-5) < spent.epsilon(1e-5) < 1.15 * gaussian_epsilon(1.0, 1e-5)


@pytest.mark.parametrize(
    ("claimed", "true"), [(10, 10.4), (50, 96), (100, 300), (250, 1550), (500, 5765)]
)
def test_the_classic_gaussian_costs_more_than_it_claims(claimed: float, true: float) -> None:
    classic = math.sqrt(2 * math.log(1.25 / 1e-5)) / claimed
    assert gaussian_epsilon(1 / classic, 1e-5) == pytest.approx(true, rel=0.005)
    repaired = gaussian_noise(claimed, 1e-5)
    assert repaired > classic
    assert gaussian_epsilon(1 / repaired, 1e-5) == pytest.approx(claimed, rel=1e-4)
    assert gaussian_delta(1 / repaired, claimed) <= 1e-5
