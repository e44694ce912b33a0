"""Right guesses about a record in a report: proven at most, measured at least."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import pytest

from sfumato.attacks.gradients.candidates import proven
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import at_most
from sfumato.reports.page import Table
from sfumato.reports.sections.rebuilt import proven_bound, rebuilt_section
from sfumato.results.measured import SHARE, Measured
from sfumato.results.scores import Control, Scores
from sfumato.training.methods.directional import DirectionalPlan
from sfumato.training.plan import Plan
from sfumato.training.sampling import Shuffled
from sfumato.training.stages import Stage
from unit.training.runs import small_plan

LEVEL = Guarantee(
    notion=Notion.APPROXIMATE_DP, unit="example", neighbors="n", epsilon=2.0, delta=1e-5
)


def guessed(low: float) -> Scores:
    figure = Measured("right guesses", low + 0.1, low, low + 0.2, 64, SHARE)
    return Scores(
        attack="of somebody",
        knowledge="Everything.",
        figures=(figure,),
        chance={"right guesses": 1 / 64},
        control=Control(what="nothing", figures=(figure,)),
        details={"candidates": 64},
    )


def table_of(*scores: Scores) -> list[tuple[object, ...]]:
    (section,) = rebuilt_section(None, LEVEL, scores)
    table = section.parts[0]
    assert isinstance(table, Table)
    return [tuple(row) for row in table.rows]


def test_the_proof_stands_beside_what_an_attack_reached() -> None:
    rows = table_of(guessed(0.25))
    assert [row[0] for row in rows] == ["once in 64", "once in 100", "once in 10,000",
                                        "once in 1,000,000"]  # fmt: skip
    assert "0.25" in str(rows[0][2])
    assert float(str(rows[0][1])) >= math.exp(2) / 64
    assert {row[2] for row in rows[1:]} == {"–"}
    assert len(table_of()) == 3


def test_guesses_stand_beside_what_is_proven_for_their_step() -> None:
    """Whoever knows the batch of a record may be right more often than the whole run allows."""
    stage = Stage(steps=100, batch_size=10, noise_multiplier=0.5)
    plan = Plan(units=1000, stages=(stage,))
    of_step = proven(64, 0.5)
    # Sabotage: beside the bound of the run alone, an honest attack would seem to refute it.
    assert plan.most_rebuilt(1 / 64) < of_step / 2
    found = replace(
        guessed(0.35), details={"candidates": 64, "levels": [{"proven_at_most": of_step}]}
    )
    (section,) = rebuilt_section(plan.as_dict(), LEVEL, [found])
    table, said = section.parts
    assert isinstance(table, Table)
    assert f"at most {at_most(of_step, 3)} for that step" in str(table.rows[0][2])
    assert "random" in str(said)


def test_a_plan_proves_no_less_than_its_level_alone() -> None:
    plan = small_plan(units=1000, batch_size=10)
    level = replace(LEVEL, epsilon=plan.epsilon(), delta=float(plan.delta))
    written = json.loads(json.dumps(plan.as_dict()))
    for prior in (0.01, 1e-4):
        by_plan, by_level = (proven_bound(one, level)(prior) for one in (written, None))
        assert prior < by_plan <= by_level * 1.01


def test_directional_plans_are_read_again() -> None:
    shuffled = small_plan(sampling=Shuffled())
    values = {one.name: getattr(shuffled, one.name) for one in fields(shuffled)}
    plan = DirectionalPlan(**values, dimension=1000)
    written = json.loads(json.dumps(plan.as_dict()))
    assert DirectionalPlan.from_dict(written) == plan
    assert proven_bound(written, LEVEL)(0.01) == pytest.approx(plan.most_rebuilt(0.01))


@pytest.mark.parametrize(
    "other", [{"notion": Notion.SELECTIVE_DP}, {"epsilon": math.inf}, {"metric": "distance"}]
)
def test_other_guarantees_say_nothing_about_guesses(other: dict[str, object]) -> None:
    assert rebuilt_section(None, replace(LEVEL, **other), ()) == []  # type: ignore[arg-type]
