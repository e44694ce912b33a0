"""Forms and steps are one release: never more than the level that was asked for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.histograms.thresholds import histogram_delta, pair_delta
from sfumato.reports.sections.rebuilt import proven_bound
from sfumato.training.methods.forms import CONTRIBUTION
from sfumato.training.methods.forms_plan import FormsPlan
from sfumato.training.plan import Plan
from sfumato.training.sampling import sampling
from sfumato.training.stages import Stage

DELTA = 1e-5


def full_batch(noise: float, steps: int) -> Plan:
    stages = (Stage(steps=steps, batch_size=1000, noise_multiplier=noise),)
    return Plan(units=1000, stages=stages, delta=DELTA, sampling=sampling("shuffled"))


def sampled(accountant: str = "pld") -> Plan:
    stages = (Stage(steps=50, batch_size=30, noise_multiplier=1.0),)
    return Plan(units=1000, stages=stages, delta=DELTA, accountant=accountant)


def test_the_level_is_that_of_gaussians_where_that_is_known() -> None:
    """Without sampling all is one Gaussian, but for a form that one unit alone has."""
    plan = FormsPlan.before(full_batch(5.0, 9), 0.3)
    lost = plan.forms.shown_alone
    shift = math.hypot(3 / 5.0, 1 / plan.forms.multiplier)
    exact = gaussian_epsilon(shift, DELTA - lost) - math.log1p(-lost)
    found = plan.epsilon()
    assert found == pytest.approx(exact, rel=1e-3)
    # It holds: the pair with the most of everything has no larger delta there.
    assert pair_delta(found, math.log1p(-lost), shift) <= DELTA


def test_twins_that_forget_something_claim_too_little() -> None:
    plan = FormsPlan.before(full_batch(5.0, 9), 1.5)
    lost = math.log1p(-plan.forms.shown_alone)
    shift = math.hypot(3 / 5.0, 1 / plan.forms.multiplier)
    of_the_steps_alone = full_batch(5.0, 9).epsilon()
    assert pair_delta(of_the_steps_alone, lost, shift) > 2 * DELTA
    # All of delta for the noise, and a form that one unit alone has for nothing.
    forgetful = gaussian_epsilon(shift, DELTA)
    assert pair_delta(forgetful, lost, shift) > DELTA * 1.05
    assert pair_delta(plan.epsilon(), lost, shift) <= DELTA


@pytest.mark.parametrize("accountant", ["pld", "rdp", "pure"])
@pytest.mark.parametrize("part", [0.1, 2.9])
def test_noise_is_solved_for_both(accountant: str, part: float) -> None:
    draft = sampled(accountant)
    plan = FormsPlan.before(draft, part).with_epsilon(3.0)
    assert isinstance(plan, FormsPlan)
    assert 2.9 < plan.epsilon() <= 3.0
    assert plan.noise_multiplier > draft.with_epsilon(3.0).noise_multiplier
    # At worst, what is left is what was not spent on forms.
    left = replace(draft, delta=DELTA * 0.9).with_epsilon(3.0 - part)
    assert plan.noise_multiplier <= left.noise_multiplier * 1.001


def test_the_histogram_alone_keeps_its_own_level() -> None:
    plan = FormsPlan.before(sampled(), 0.2)
    noise = plan.forms
    assert noise.delta == DELTA / 10
    assert noise.threshold is not None
    assert histogram_delta(0.2, CONTRIBUTION, noise.deviation, noise.threshold) <= DELTA / 10
    # A twin with noise for half of what a unit moves, or with half the threshold, does not.
    for twin in ((noise.deviation / 2, noise.threshold), (noise.deviation, noise.threshold / 2)):
        assert histogram_delta(0.2, CONTRIBUTION, *twin) > DELTA / 10


def test_the_level_grows_with_the_steps_from_that_of_the_forms() -> None:
    plan = FormsPlan.before(sampled(), 0.5)
    levels = [plan.epsilon(steps) for steps in (0, 1, 25, 50)]
    assert levels == sorted(levels)
    assert 0 < levels[0] <= 0.5
    assert plan.so_far(25) >= levels[2]


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = FormsPlan.before(sampled("rdp"), 0.5).with_epsilon(3.0)
    again = FormsPlan.from_dict(plan.as_dict())
    assert again == plan
    assert again.epsilon() == plan.epsilon()
    with pytest.raises(InvalidArgument, match="not part of a plan: forms"):
        Plan.from_dict(plan.as_dict())
    with pytest.raises(InvalidArgument, match="this is not a plan"):
        FormsPlan.from_dict(plan.as_dict() | {"forms": {"words": 3}})
    # What may be rebuilt is computed from all that was released.
    bound = proven_bound(plan.as_dict(), plan.guarantee())(0.01)
    assert bound == plan.most_rebuilt(0.01)
    steps = Plan.from_dict({key: one for key, one in plan.as_dict().items() if key != "forms"})
    assert bound > steps.most_rebuilt(0.01)


def test_a_guarantee_names_the_forms_and_no_divergence_is_claimed() -> None:
    plan = FormsPlan.before(sampled("rdp"), 0.5)
    assert plan.guarantee().scope.startswith("the forms of made-up values")
    assert plan.guarantee().epsilon == plan.epsilon()
    assert "after forms at ε ≤ 0.5" in plan.summary()
    with pytest.raises(IncomparableGuarantees):
        plan.costs().divergence(8.0)
    with pytest.raises(InvalidArgument, match="do not add up"):
        replace(plan, neighbors="replacement")


def test_a_part_of_the_level_is_shown_for_each() -> None:
    parts = FormsPlan.before(sampled(), 0.5).parts()
    assert list(parts) == ["forms", "model", "together", "how"]
    together = parts["together"]["epsilon"]
    assert parts["model"]["epsilon"] < together < parts["model"]["epsilon"] + 0.5
    assert "composed" in parts["how"]


def test_an_accountant_without_an_answer_says_so_itself() -> None:
    """Not that there is too little noise, with the advice to take the accountant that was taken."""
    draft = replace(sampled(), delta=1e-14)
    with pytest.raises(InvalidArgument, match=r"rounding error.*use the accountant rdp"):
        FormsPlan.before(draft, 0.5).with_epsilon(3.0)
