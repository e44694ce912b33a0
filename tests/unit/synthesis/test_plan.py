"""The noise is enough for all rounds and votes together, and hardly more than that."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from sfumato.accounting.gaussian import gaussian_delta
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.synthesis.plan import LABELS_UNCOVERED, VotingPlan


def delta_of(noise: float, plan: VotingPlan, *, times: float = 1.0) -> float:
    """What T histograms with k votes of a unit truly have, at the level that is claimed."""
    return gaussian_delta(math.sqrt(times * plan.rounds * plan.votes) / noise, plan.epsilon)


@pytest.mark.parametrize(("rounds", "votes"), [(1, 1), (2, 1), (5, 3)])
def test_every_round_and_every_vote_is_charged(rounds: int, votes: int) -> None:
    plan = VotingPlan(units=8000, epsilon=1, delta=1e-5, rounds=rounds, votes=votes)
    assert 0.999e-5 < delta_of(plan.noise, plan) <= 1e-5
    for charged in ((1, votes), (rounds, 1)):
        if charged != (rounds, votes):
            # The twins: rounds charged as one, votes charged as one.
            twin = replace(plan, rounds=charged[0], votes=charged[1])
            assert delta_of(twin.noise, plan) > 10 * 1e-5


def test_replacement_is_stated_beside_it() -> None:
    plan = VotingPlan(units=8000, epsilon=1, delta=1e-5)
    replaced = VotingPlan(units=8000, epsilon=plan.replacement_epsilon, delta=1e-5)
    assert delta_of(plan.noise, replaced, times=2) <= 1e-5
    assert plan.replacement_epsilon == pytest.approx(1.4652, abs=1e-4)


def test_the_guarantee_says_what_is_not_protected() -> None:
    plan = VotingPlan(units=900, epsilon=2)
    said = plan.guarantee()
    assert (said.epsilon, said.unit, said.for_release) == (2.0, "record", True)
    assert said.delta == plan.delta
    assert said.delta < 1 / 900
    assert "its place left empty" in said.neighbors
    assert said.uncovered == ("what several records of one person show together",)
    assert "the number of records included" in said.leaks[0]
    public = VotingPlan(units=900, epsilon=2, labels="public", unit="author").guarantee()
    assert public.uncovered == (LABELS_UNCOVERED,)
    assert "its label left in place" in public.neighbors
    assert "evaluate_synthetic" in said.summary()[2]


def test_votes_that_noise_would_drown_are_refused_with_what_would_be_needed() -> None:
    plan = VotingPlan(units=300, epsilon=1, delta=1e-5)
    assert plan.noise_share(10) < 0.2
    plan.refuse_mostly_noise(10)
    with pytest.raises(InvalidArgument) as error:
        plan.refuse_mostly_noise(1000)
    said = str(error.value)
    assert said.startswith(f"{plan.noise_share(1000):.0%} of the counts would be noise")
    needed = re.search(r"About ([\d,]+) records would be needed", said)
    assert needed is not None
    enough = VotingPlan(units=int(needed[1].replace(",", "")), epsilon=1, delta=1e-5)
    enough.refuse_mostly_noise(1000)
    fewer = re.search(r"at most ([\d,]+) candidates", said)
    assert fewer is not None
    plan.refuse_mostly_noise(int(fewer[1].replace(",", "")))


def test_wrong_plans_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="epsilon=0 must be greater"):
        VotingPlan(units=900, epsilon=0)
    with pytest.raises(UnknownName, match="did you mean 'record'"):
        VotingPlan(units=900, epsilon=1, unit="records")
    with pytest.raises(UnknownName, match="noised"):
        VotingPlan(units=900, epsilon=1, labels="true")
    with pytest.raises(InvalidArgument, match="more than 1/n"):
        VotingPlan(units=900, epsilon=1, delta=0.01)
