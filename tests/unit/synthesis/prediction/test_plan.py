"""Levels of private prediction: all tokens are charged, and what is left open is chosen."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.bounded_range import least_level
from sfumato.accounting.events import BoundedRange
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.synthesis.plan import LABELS_UNCOVERED
from sfumato.synthesis.prediction.plan import PredictionPlan

KNOWN: dict[str, Any] = {"units": 8000, "epsilon": 0.5, "delta": 1e-5, "tokens": 24}


def plan_of(**other: Any) -> PredictionPlan:
    return PredictionPlan(**KNOWN | other)


def test_the_figures_of_twenty_four_tokens() -> None:
    plan = plan_of(clip=10.0, prompts=200, temperature=2.0)
    assert plan.rho == pytest.approx(24 * 10**2 / (2 * 200**2 * 2**2))
    # By zCDP alone, as published: 0.47, and 0.99 for a record that is replaced.
    draws = [BoundedRange(range=times * 10 / 400, outcomes=None, count=24) for times in (1, 2)]
    known = [compute_spending([one], "zcdp").epsilon(1e-5) for one in draws]
    assert known == pytest.approx([0.467, 0.990], abs=5e-4)
    # The range of the losses proves a little more.
    assert plan.proven.epsilon == pytest.approx(0.4573, abs=1e-4)
    assert plan.replacement_epsilon == pytest.approx(0.9667, abs=1e-4)
    assert plan.proven.accountant == "rdp"
    assert plan.texts == 40


def test_without_much_delta_the_sum_of_levels_is_the_least() -> None:
    plan = plan_of(tokens=1, epsilon=20, prompts=2, temperature=1.0, delta=1e-9)
    assert (plan.proven.accountant, plan.proven.delta) == ("pure", 0.0)
    assert plan.proven.epsilon == pytest.approx(10.0)
    assert plan.guarantee().delta == 0.0


def test_prompts_or_the_temperature_follow_from_the_level() -> None:
    by_heat = plan_of(temperature=1.5)
    assert by_heat.proven.epsilon <= 0.5
    fewer = {"prompts": by_heat.speakers - 1, "temperature": 1.5}
    with pytest.raises(InvalidArgument, match=r"more than epsilon=0\.5"):
        plan_of(**fewer)
    by_prompts = plan_of(prompts=400)
    assert 0.4999 < by_prompts.proven.epsilon <= 0.5
    assert plan_of().heat == 1.0


@pytest.mark.parametrize("labels", ["equal", "noised"])
def test_every_token_and_every_count_is_charged(labels: str) -> None:
    plan = plan_of(prompts=200, labels=labels, classes=2)
    spent = least_level(
        [BoundedRange(range=plan.clip / (200 * plan.heat), outcomes=None, count=24)], 1e-5
    )
    noised = labels == "noised"
    assert (spent.epsilon < 0.49) == noised  # a part of it is for the counts
    if noised:
        gaussian = 1 / (2 * plan.label_noise**2)
        assert gaussian == pytest.approx(plan.rho / 9)
        with_more = replace(plan, labels="equal")
        assert with_more.proven.epsilon < plan.proven.epsilon <= 0.5
    # The twin: half of the tokens charged.
    half = replace(plan, tokens=12)
    assert half.proven.epsilon < 0.75 * plan.proven.epsilon


def test_several_records_in_a_prompt_cost_twice_the_shift() -> None:
    one, two = plan_of(prompts=300), plan_of(prompts=300, shots=2)
    # Left out, a record does not silence its prompt.
    assert two.heat == pytest.approx(2 * one.heat)
    assert two.replacement_epsilon == pytest.approx(two.proven.epsilon)
    assert (one.texts, two.texts) == (26, 13)


def test_the_guarantee_says_what_is_not_protected() -> None:
    said = plan_of(classes=2).guarantee()
    assert "its place left empty" in said.neighbors
    assert any("must not be these records" in one for one in said.uncovered)
    public = plan_of(classes=2, labels="public", unit="author").guarantee()
    assert LABELS_UNCOVERED in public.uncovered
    assert "its label left in place" in public.neighbors
    assert "evaluate_synthetic" in said.summary()[2]


def test_labels_that_share_a_group_get_equally_many_texts() -> None:
    plan = plan_of(units=1000, epsilon=50, classes=3, prompts=90)
    assert plan.texts == 9
    assert replace(plan, labels="noised", temperature=None).texts == 11


def test_wrong_plans_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="enough for 0"):
        plan_of(units=30, delta="auto")
    with pytest.raises(InvalidArgument, match="100 texts are asked for"):
        plan_of(asked=100)
    with pytest.raises(InvalidArgument, match="nobody may look"):
        plan_of(shots=2, classes=2)
    with pytest.raises(UnknownName, match="noised"):
        plan_of(labels="true")
    with pytest.raises(InvalidArgument, match="clip"):
        plan_of(clip=math.inf)
    with pytest.raises(InvalidArgument, match="too small for 24 tokens"):
        plan_of(epsilon=1e-13, delta=1e-300)
