"""What plans cost in divergences: against dp-accounting, against integrals, and added up."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from scipy import integrate, stats

from paid_work import ACCOUNT, account_of, new_payment
from sfumato.accounting.budget import Budget, Claim, Costs, Limit, choose_order
from sfumato.accounting.budget.shared import Request
from sfumato.accounting.divergences import bound_at
from sfumato.accounting.events import BoundedRange, SampledGaussian
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Notion
from sfumato.histograms.thresholds import Contribution
from sfumato.histograms.words import Budget as Histogram
from sfumato.synthesis.plan import VotingPlan
from sfumato.synthesis.prediction.plan import PredictionPlan
from sfumato.training.plan import Plan
from sfumato.verbs.plan import plan as make_plan

LACKS = "two corpora of which one lacks one example of the other, its place left empty"
SAMPLED = [(1.0, 0.02), (0.6, 0.3), (4.0, 0.001), (2.0, 0.9)]
ORDERS = (1.05, 1.5, 2.0, 2.7, 3.8, 16.0)


def costs(*events: SampledGaussian | BoundedRange, **told: object) -> Costs:
    made = Costs(unit="example", neighbors=LACKS, events=events)
    return replace(made, **told)  # type: ignore[arg-type]


def exact(order: float, noise: float, rate: float, *, turned: bool = False) -> float:
    """The divergence of a sampled Gaussian from noise alone, or the other way, by an integral."""

    def log_ratio(x: float) -> float:
        return float(np.logaddexp(math.log1p(-rate), math.log(rate) + (2 * x - 1) / (2 * noise**2)))

    def integrand(x: float) -> float:
        power = (1 - order) if turned else order
        return math.exp(power * log_ratio(x) + float(stats.norm.logpdf(x, 0, noise)))

    reach = 12 * noise + order
    found, _ = integrate.quad(integrand, -reach, reach, points=[0.0, 1.0, order], limit=400)
    return math.log(found) / (order - 1)


@pytest.mark.parametrize(("noise", "rate"), SAMPLED)
def test_a_sampled_release_costs_what_dp_accounting_says_or_a_little_more(
    noise: float, rate: float
) -> None:
    event = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    for order in ORDERS:
        theirs = rdp_privacy_accountant.RdpAccountant([order])
        theirs.compose(event, 100)
        made = costs(SampledGaussian(noise_multiplier=noise, rate=rate, count=100))
        ours = made.divergence(order)
        # A line between whole orders may lie below their bound.
        assert ours <= theirs._rdp[0] * (1 + 1e-6) + 1e-9
        true = 100 * max(exact(order, noise, rate), exact(order, noise, rate, turned=True))
        assert ours >= true * (1 - 1e-7)
        if order >= 2:
            assert ours <= 1.05 * true + 1e-9


def test_a_twin_without_rounding_or_at_another_order_charges_too_little() -> None:
    true = exact(3.8, 1.0, 0.02)
    assert bound_at(1.0, 0.02, 3.8) >= true * (1 - 1e-9)
    assert bound_at(1.0, 0.02, 3.0) < true


def test_orders_without_a_series_are_bounded_all_the_same() -> None:
    assert bound_at(0.3, 0.5, 20_000.5) <= 20_000.5 / (2 * 0.09) * (1 + 1e-8)
    assert math.isfinite(bound_at(30.0, 0.99, 1.0001))


def test_releases_without_sampling_are_concentrated() -> None:
    made = costs(
        SampledGaussian(noise_multiplier=2.0, count=3),
        BoundedRange(range=0.5, outcomes=None, count=2),
        pure=0.1,
    )
    assert made.rho() == pytest.approx(3 / 8 + 2 * 0.125 + 0.005)
    assert made.divergence(5.0) <= 5.0 * made.rho() * (1 + 1e-9)
    with pytest.raises(IncomparableGuarantees, match="random batches"):
        costs(SampledGaussian(noise_multiplier=2.0, rate=0.5)).rho()
    with pytest.raises(IncomparableGuarantees, match="without noise"):
        costs(SampledGaussian(noise_multiplier=0.0)).divergence(2.0)
    with pytest.raises(IncomparableGuarantees, match="never finite; charge an account"):
        costs(unbounded="never finite").rho()


@pytest.mark.parametrize(("noise", "rate"), SAMPLED)
def test_a_unit_that_is_exchanged_costs_at_least_the_pair_of_both(
    noise: float, rate: float
) -> None:
    """One unit on one side, the other on the other side: a pair that replacement must cover."""
    order = 3.0
    event = SampledGaussian(noise_multiplier=noise, rate=rate)

    def log_of(side: float) -> Any:
        moved = math.log(rate) + stats.norm.logpdf(grid, side, noise)
        return np.logaddexp(math.log1p(-rate) + stats.norm.logpdf(grid, 0, noise), moved)

    grid = np.linspace(-14 * noise - 4, 14 * noise + 4, 40_001)
    first, second = log_of(1.0), log_of(-1.0)
    moment = float(np.exp(order * first + (1 - order) * second).sum() * (grid[1] - grid[0]))
    true = math.log(moment) / (order - 1)
    replaced = costs(event, replaced=True).divergence(order)
    assert true <= replaced
    assert costs(event).divergence(order) < true  # so the cost for a missing unit is not enough
    whole = costs(SampledGaussian(noise_multiplier=noise), replaced=True)
    assert whole.rho() == pytest.approx(2 / noise**2)
    assert whole.divergence(order) == pytest.approx(2 * order / noise**2)


# --- in an account ------------------------------------------------------------------------------

FIRST = make_plan(5056, batch_size=128, epochs=3, epsilon=1, delta=1e-6, accountant="rdp")
SECOND = make_plan(5056, batch_size=512, epochs=5, noise_multiplier=2.0, delta=1e-6)


def claim(plan: Plan) -> Claim:
    return Claim(plan.guarantee(), costs=plan.costs())


def test_two_plans_add_up_to_at_least_the_divergence_of_both(tmp_path: Path) -> None:
    order = 3.8
    payment = new_payment(tmp_path, Limit.of("renyi", 5.0, order=order))
    with Budget.at(payment.budget, payment.key) as budget:
        for name, plan in (("a", FIRST), ("b", SECOND)):
            budget.hold(ACCOUNT, claim(plan), Request(name))
            budget.settle(ACCOUNT, name)
    events = [*FIRST.events(), *SECOND.events()]
    true = math.fsum(one.count * exact(order, one.noise_multiplier, one.rate) for one in events)
    spent = account_of(payment).spent.level
    assert true <= spent <= true * (1 + 1e-3)
    # A twin that charges each plan at the order that suits it best stays below.
    best = sum(min(plan.costs().divergence(one) for one in ORDERS) for plan in (FIRST, SECOND))
    assert best < 0.6 * true


def test_the_published_number_of_plans_fits() -> None:
    """Eight plans of ε = 1 by adding levels, and 58 at one order: SERVICE, section 2."""
    plan = make_plan(5056, batch_size=128, epochs=3, epsilon=1, delta=1e-6)
    found = choose_order(plan.costs(), 8.0, 1e-5)
    assert found.plans == 58
    assert found.order == pytest.approx(3.8, abs=0.1)
    assert found.limit.epsilon(1e-5) <= 8.0
    for order, share in ((3.1, 0.89), (5.0, 0.89)):
        other = choose_at(plan, order)
        assert share * 58 <= other <= 58
    with pytest.raises(InvalidArgument, match="too little for any order"):
        choose_order(plan.costs(), 0.001, 1e-12)
    with pytest.raises(InvalidArgument, match="a level and a delta"):
        choose_order(plan.costs(), 1.0, 0.0)


def choose_at(plan: Plan, order: float) -> int:
    most = 8.0 - math.log1p(-1 / order) + math.log(1e-5 * order) / (order - 1)
    return math.floor(most / plan.costs().divergence(order))


def test_other_work_says_what_it_costs_too() -> None:
    votes = VotingPlan(units=8000, epsilon=1, rounds=2, votes=3, delta=1e-5)
    rho = votes.costs().rho()
    assert gaussian_epsilon(math.sqrt(2 * rho), 1e-5) == pytest.approx(1.0, rel=1e-3)
    drawn = PredictionPlan(units=8000, epsilon=0.5, delta=1e-5, labels="noised", classes=2)
    labels = replace(drawn, labels="equal", prompts=drawn.prompts, temperature=drawn.temperature)
    assert drawn.costs().rho() > labels.costs().rho() >= drawn.rho * (1 - 1e-9)
    words = Histogram(epsilon=1.0, delta=1e-6, contribution=Contribution(words=5))
    secure = Randomness.secure()
    for public in (False, True):
        made = words.claim(words.solve(1000, public=public), secure, "words").costs
        assert made is not None
        if public:
            assert Limit.of("rho", made.rho()).epsilon(1e-6) >= 1.0
        else:
            with pytest.raises(IncomparableGuarantees, match="no divergence is finite"):
                made.divergence(2.0)


def test_a_pure_level_is_charged_in_divergences_by_what_it_implies(tmp_path: Path) -> None:
    stated = replace(FIRST.guarantee(), epsilon=0.2)
    pure = Claim(replace(stated, delta=0.0, notion=Notion.PURE_DP))
    payment = new_payment(tmp_path, Limit.of("renyi", 5.0, order=2.0))
    with Budget.at(payment.budget, payment.key) as budget:
        assert budget.charge(ACCOUNT, pure, Request("a")).amount.level == pytest.approx(0.04)
        assert budget.charge(ACCOUNT, claim(FIRST), Request("b")).amount.units > 0
