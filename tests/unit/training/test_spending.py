"""The level on the progress bar: never below the true one, and not far above."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from sfumato.accounting.accountants import Spent, compute_spending
from sfumato.accounting.events import SampledGaussian
from sfumato.core.errors import InvalidArgument
from sfumato.training import plan as plan_module
from sfumato.training.plan import Plan
from sfumato.training.sampling import Shuffled
from sfumato.training.spending import Spending
from sfumato.training.stages import Stage

STAGE = Stage(steps=70, batch_size=50, noise_multiplier=1.0)


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
def test_what_is_shown_is_never_below_what_is_spent(accountant: str) -> None:
    plan = Plan(units=1000, stages=(STAGE,), accountant=accountant)
    shown = Spending(plan=plan, marks=7)
    assert shown.so_far(0) == 0.0
    assert shown.so_far(70) == plan.epsilon()
    for steps in (1, 9, 10, 11, 35, 69):
        true = plan.epsilon(steps)
        assert true <= shown.so_far(steps) <= plan.epsilon(min(70, steps + 9))


def test_few_distributions_are_composed_for_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    composed: list[str] = []

    def counted(events: Sequence[SampledGaussian], accountant: str) -> Spent:
        composed.append(accountant)
        return compute_spending(events, accountant)

    plan_module._epsilon.cache_clear()
    monkeypatch.setattr(plan_module, "compute_spending", counted)
    shown = Spending(plan=Plan(units=1000, stages=(STAGE,)), marks=5)
    for steps in range(71):
        shown.so_far(steps)
    assert composed.count("pld") == 6


def test_without_noise_it_shows_infinity() -> None:
    bare = Plan(units=1000, stages=(Stage(steps=5, batch_size=50, noise_multiplier=0.0),))
    assert Spending(plan=bare).so_far(1) == math.inf
    assert Spending(plan=bare).so_far(0) == 0.0


def test_epochs_of_shuffled_batches_are_shown_as_they_are_charged() -> None:
    plan = Plan(units=1000, stages=(STAGE,), sampling=Shuffled(), accountant="rdp")
    shown = Spending(plan=plan, marks=70)
    assert shown.so_far(21) == plan.epsilon(40)


def test_more_steps_than_planned_are_refused() -> None:
    plan = Plan(units=1000, stages=(STAGE,), accountant="rdp")
    with pytest.raises(InvalidArgument, match="steps=71"):
        Spending(plan=plan).so_far(71)
