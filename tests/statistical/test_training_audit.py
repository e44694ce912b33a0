"""Training, audited from the outside: does a model show that one record was trained on?

Two worlds differ in one record, a canary or an empty place. In each, models are trained from the
same first weights, again and again, by the very loop that users run. The attacker knows everything
but that record: the first weights, the other records, the direction into which the canary pulls.
He says "member" when the trained weights lie further in that direction than a threshold that was
fixed before. From how often he is right follows a lower bound on ε (``two_run_bound``); it must not
exceed the level that the plan claims, but for the false alarms that the budget allows. Trained
without noise, with too little of it, or without clipping, the model must be caught.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.audits.lower_bounds import Guesses, two_run_bound
from sfumato.core.randomness import Randomness
from sfumato.guarantees.bound import EmpiricalBound
from sfumato.models.load import LoadedModel
from sfumato.text.document import Document
from sfumato.training.clipping import release
from sfumato.training.clipping.clippers import Clipping, Flat
from sfumato.training.clipping.release import add_noise
from sfumato.training.loop import fit
from sfumato.training.plan import Plan
from sfumato.training.records import TokenRecords
from sfumato.training.settings import Course
from sfumato.training.stages import Stage
from statistical import budget
from unit.training.runs import flat, small_model, some_records

CHECK = "audits: training"
# The lower the level, the fewer worlds exceed it: with all guesses right, 46 of them prove 0.44.
WORLDS = 46
EPSILON, DELTA, UNITS = 0.25, 1e-3, 40
COURSE = Course(optimizer="sgd", learning_rate=4.0)
CANARY = Document("My ID is 145572, keep it to yourself")
OTHERS = [Document("a public text"), Document("all is text")]
CASES = {
    "one step, everybody in it": Stage(steps=1, batch_size=UNITS, noise_multiplier=1.0),
    "two steps on samples": Stage(steps=2, batch_size=UNITS * 9 // 10, noise_multiplier=1.0),
}

Sabotage = Callable[[pytest.MonkeyPatch], None]


# Rows are not compared at the beginning of each of the thousands of trainings.


@cache
def plan(case: str) -> Plan:
    drawn = Plan(units=UNITS, stages=(CASES[case],), delta=DELTA, clipping=Clipping(norm=0.005))
    return drawn.with_epsilon(EPSILON)


@cache
def world(*present: Document) -> TokenRecords:
    """The records; all places that are not taken are left empty."""
    return some_records([*present, *[Document("")] * (UNITS - len(present))])


MEMBER = world(CANARY, *OTHERS)
NOBODY = world(Document(""), *OTHERS)


@dataclass(frozen=True)
class Attacker:
    """The direction of the canary's pull, and how far along it a member's weights should lie."""

    model: LoadedModel
    first: dict[str, Tensor]
    direction: Tensor
    threshold: float

    @classmethod
    def prepared(cls, case: str) -> Attacker:
        """From training on one record at a time, without noise."""
        model = small_model()
        first = {name: one.clone() for name, one in model.network.state_dict().items()}
        everybody = replace(CASES[case], batch_size=UNITS, noise_multiplier=1e-9)
        quiet = replace(plan(case), stages=(everybody,))
        pull, *others = (
            _moved(model, first, world(one), quiet, Randomness.reproducible(1))
            for one in (CANARY, *OTHERS)
        )
        # What the others do, and whether they were drawn, should not blur the picture.
        basis = torch.linalg.qr(torch.stack(others, dim=1)).Q
        own = pull - basis @ (basis.T @ pull)
        return cls(model, first, own / own.norm(), float(own.norm()) / 2)

    def accuses(self, records: TokenRecords, made: Plan, randomness: Randomness) -> bool:
        moved = _moved(self.model, self.first, records, made, randomness)
        return float(moved @ self.direction) > self.threshold


def _moved(
    model: LoadedModel,
    first: dict[str, Tensor],
    records: TokenRecords,
    made: Plan,
    randomness: Randomness,
) -> Tensor:
    """How far the weights have moved."""
    model.network.load_state_dict(first)
    before = flat(model)
    fit(model, records, made, COURSE, randomness=randomness)
    return flat(model) - before


def audited(case: str, seed: int) -> EmpiricalBound:
    """What the attacker proves about ε, at the level of confidence that the budget gives."""
    attacker, source = Attacker.prepared(case), Randomness.reproducible(seed)
    found, accused = (
        sum(
            attacker.accuses(records, plan(case), source.stream(side).stream(number))
            for number in range(WORLDS)
        )
        for side, records in enumerate((MEMBER, NOBODY))
    )
    guesses = Guesses(members=WORLDS, found=found, others=WORLDS, accused=accused)
    return two_run_bound(guesses, delta=DELTA, confidence=1 - budget.level(CHECK, case))


@pytest.mark.parametrize("case", CASES)
def test_the_bound_stays_below_the_claimed_level(case: str) -> None:
    claimed = plan(case).guarantee()
    assert 0.9 * EPSILON < claimed.epsilon <= EPSILON
    assert audited(case, seed=31).epsilon <= claimed.epsilon


# --- sabotaged twins -----------------------------------------------------------------------------


def without_noise(patch: pytest.MonkeyPatch) -> None:
    def silently(totals: Any, deviation: float, randomness: Randomness, *team: Any) -> Tensor:
        return add_noise(totals, deviation * 1e-12, randomness, *team)  # and says it was added

    patch.setattr(release, "add_noise", silently)


def with_little_noise(patch: pytest.MonkeyPatch) -> None:
    def quietly(totals: Any, deviation: float, randomness: Randomness, *team: Any) -> Tensor:
        return add_noise(totals, deviation / 120, randomness, *team)

    patch.setattr(release, "add_noise", quietly)


def without_clipping(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Flat, "scales", lambda _, norms: torch.ones_like(norms))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("sabotage", [without_noise, with_little_noise, without_clipping])
def test_twins_are_caught(case: str, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage(monkeypatch)
    assert audited(case, seed=32).epsilon > plan(case).guarantee().epsilon
