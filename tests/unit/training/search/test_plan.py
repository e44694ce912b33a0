"""What a search may try, and the noise that keeps its level."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from sfumato.accounting.selection import BestOfTrials
from sfumato.accounting.trials import TrialCount
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.training.methods.forms_plan import FormsPlan
from sfumato.training.plan import Plan
from sfumato.training.request import Request
from sfumato.training.search.plan import SCOPE, Candidate, SearchPlan
from sfumato.training.search.space import Interval, SearchSpace, ValueList, deciding, of_model
from sfumato.training.settings import Privacy
from sfumato.verbs.tune import tune


def draft(size: int = 8, units: int = 100) -> Plan:
    return Privacy(epsilon=1.0, epochs=2, batch_sizes=(size,), delta=1e-3, accountant="rdp").draft(
        units
    )


@cache
def search_plan(*, held_out: bool = False) -> SearchPlan:
    return SearchPlan(
        epsilon=4.0,
        delta=1e-3,
        trials=TrialCount(mean=6.0),
        candidates=tuple(Candidate({"batch_size": size}, draft(size)) for size in (8, 32)),
        accountant="rdp",
    ).solved(held_out=held_out)


# --- what is tried ------------------------------------------------------------------------------


def test_a_space_is_read_from_lists_and_intervals() -> None:
    space = SearchSpace.of(
        {
            "learning_rate": "1e-4..1e-2:log",
            "clip_norm": "0.5..2",
            "batch_size": "64, 128",
            "epochs": [1, 2.5],
            "hidden": "16,32",
        }
    )
    assert dict(space.settings) == {
        "learning_rate": Interval(1e-4, 1e-2, log=True),
        "clip_norm": Interval(0.5, 2.0),
        "batch_size": ValueList((64, 128)),
        "epochs": ValueList((1.0, 2.5)),
        "hidden": ValueList(("16", "32")),
    }
    assert len(space.combinations()) == 4
    assert SearchSpace.of(space.as_dict()) == space
    source = Randomness.reproducible(3)
    drawn = [space.draw(source.stream(place)) for place in range(40)]
    assert {one["batch_size"] for one in drawn} == {64, 128}
    rates = [one["learning_rate"] for one in drawn]
    assert min(rates) >= 1e-4
    assert max(rates) <= 1e-2
    assert sum(rate < 1e-3 for rate in rates) > 10
    assert deciding(drawn[0]).keys() == {"batch_size", "epochs"}
    assert of_model(drawn[0]).keys() == {"hidden"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"learning_rate": "1e-2..1e-4"},
        {"learning_rate": "0..1:log"},
        {"learning_rate": "1e-4..1e-2:square"},
        {"learning_rate": "fast,slow"},
        {"batch_size": "64..128"},  # each value needs noise of its own
        {"batch_size": "64,64"},
        {"batch_size": "64,,128"},
        {"epsilon": "1,8"},
        {"unit": "example,author"},
        {"batch_size": list(range(1, 100))},
    ],
)
def test_what_cannot_be_searched_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match="search="):
        SearchSpace.of(given)


def test_models_are_tried_in_every_combination() -> None:
    space = SearchSpace.of({"width": "16,24", "heads": "2,3", "batch_size": "4,8"})
    assert space.shapes() == [
        {"heads": heads, "width": width} for heads in ("2", "3") for width in ("16", "24")
    ]
    with pytest.raises(InvalidArgument, match="tried before the search"):
        SearchSpace.of({"width": list(range(10)), "heads": list(range(10))})


def test_values_that_do_not_go_together_are_refused_before_anything_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, public = tmp_path / "notes.txt", tmp_path / "public.txt"
    corpus.write_text("one note\nanother one\na third\n")
    public.write_text("some text\n")

    def load(self: Request, _: Randomness) -> None:
        if dict(self.settings) == {"hidden": "8", "embedding": "4"}:
            raise InvalidArgument("no such model")

    monkeypatch.setattr(Request, "load", load)
    for given, said in (
        ({"hidden": "4,8", "embedding": "4,8"}, "no such model"),
        ({"lora_rank": "2,4", "trainable": "lora,all"}, "give one of them"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            tune(
                corpus, tmp_path / "run", epsilon=8, search=given, valid=public, batch_size=2,
                model="lstm", accountant="rdp",
            )  # fmt: skip
    assert {one.name for one in tmp_path.iterdir()} == {"notes.txt", "public.txt"}


# --- the noise ----------------------------------------------------------------------------------


def test_all_settings_together_keep_the_level() -> None:
    plan = search_plan(held_out=True)
    assert 3.9 < plan.level() <= 4.0
    for one in plan.candidates:
        alone = BestOfTrials(plan.trials, (one.events,), "rdp").epsilon(plan.delta)
        assert 3.8 < alone <= plan.level()
        # A trial has more noise than a single run at the same level needs, and less than if all
        # trials were released.
        single = one.plan.with_epsilon(4.0).noise_multiplier
        assert single < one.plan.noise_multiplier
    rows = plan.compare()["candidates"]
    assert all(row["epsilon_of_one_trial"] < 4.0 < row["epsilon_composed"] for row in rows)
    assert all(row["epsilon_composed"] < row["epsilon_added_up"] for row in rows)
    assert any("a single run at the same ε would have" in line for line in plan.lines())


def test_twin_the_noise_of_a_single_run_does_not_keep_it() -> None:
    plan = search_plan()
    cheap = tuple(replace(one, plan=one.plan.with_epsilon(4.0)) for one in plan.candidates)
    assert replace(plan, candidates=cheap).level() > 5.0


def test_a_score_on_held_out_units_is_part_of_the_level() -> None:
    plan = search_plan(held_out=True)
    assert plan.score_noise is not None
    assert replace(plan, score_noise=plan.score_noise / 2).level() > 5.0  # the twin


def test_a_trial_with_another_plan_is_refused() -> None:
    plan, drawn = search_plan(), {"batch_size": 32, "learning_rate": 0.1}
    charged = plan.candidate(drawn).plan
    plan.check(charged, drawn)
    plan.check(replace(charged, accountant="pld"), drawn)
    for other in (
        charged.with_epsilon(5.0),  # less noise
        replace(charged, units=101),
        replace(charged, delta=1e-4),
        plan.candidate({"batch_size": 8}).plan,
        FormsPlan.before(charged, 0.1),  # the same steps, after a release of its own
        None,
    ):
        with pytest.raises(InvalidArgument, match="not the one that the search was charged for"):
            plan.check(other, drawn)


def test_the_guarantee_names_the_search_and_the_plan_survives_writing() -> None:
    plan = search_plan(held_out=True)
    single = plan.candidates[0].plan.guarantee()
    stated = plan.promise(single)
    assert stated.scope == SCOPE
    assert single.epsilon < stated.epsilon <= 4.0
    assert any("how long the search took" in leak for leak in stated.leaks)
    assert plan.promise(stated) == stated
    read = SearchPlan.from_dict(plan.as_dict())
    assert read.as_dict() == plan.as_dict()
    assert read.level() == plan.level()
    # A guess is right more often than the plan of one trial says.
    assert read.most_rebuilt(0.01) > plan.candidates[0].plan.most_rebuilt(0.01)


def test_a_level_that_leaves_no_noise_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="hardly any noise"):
        replace(search_plan(), epsilon=1e15).solved(held_out=False)
