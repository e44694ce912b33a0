"""What stood at a place: leaking surrogates are caught, honest ones are not accused."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.stretches import context_inference
from sfumato.attacks.stretches.context_inference import BY_CONTEXT, GUESSED, ContextInference
from sfumato.attacks.stretches.released import Released
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from statistical import budget
from unit.attacks.stretches.made import (
    NAMES,
    POLICY,
    Replace,
    keep,
    keep_first_letter,
    pseudonym,
    redact,
    released,
    surrogate,
    tickets,
)

CHECK = "attacks: stretches"
COUNT = 80
ATTACK = ContextInference()


@cache
def attacked(way: Replace, seed: int = 1, count: int = COUNT) -> Scores:
    generator = np.random.default_rng(seed)
    originals = tickets(count, generator)
    return ATTACK.score(
        released(originals, way, generator), originals, Randomness.reproducible(seed)
    )


def evidence(scores: Scores, metric: str = GUESSED) -> float:
    """The exact probability of so many right guesses, or more, by chance."""
    found = scores.figure(metric)
    return budget.at_most(round(found.value * found.n), found.n, scores.chance[metric])


def test_a_surrogate_that_leaks_its_first_letter_is_caught_at_the_stated_power() -> None:
    """Of 20 names about 1.7 have the right letter, so more than half of the guesses are right."""
    for seed in (1, 2):
        scores = attacked(keep_first_letter, seed)
        figure = scores.figure(GUESSED)
        assert figure.low is not None
        assert figure.low > scores.chance[GUESSED] == pytest.approx(0.05)
        assert budget.rejects(CHECK, "surrogate", [evidence(scores)]), figure
        # Far above the share that the note says would be told from chance.
        assert "a true share of 0.17 would be told from chance" in scores.notes[0]
        assert figure.value > 0.3
        # The context alone tells nothing, and says so.
        context = scores.figure(BY_CONTEXT)
        assert context.low is not None
        assert context.low < 0.1


@pytest.mark.parametrize("way", [surrogate, redact])
def test_an_honest_replacement_is_not_accused(way: Replace) -> None:
    for seed in (1, 2):
        scores = attacked(way, seed)
        case = "surrogate" if way is surrogate else "redact"
        assert not budget.rejects(CHECK, case, [evidence(scores)]), scores.figure(GUESSED)


def test_the_control_is_near_chance_although_the_mechanism_leaks() -> None:
    scores = attacked(keep_first_letter)
    control = scores.control.figures[0]
    p = budget.at_most(round(control.value * control.n), control.n, scores.chance[GUESSED])
    assert not budget.rejects(CHECK, "control", [p]), control


def test_a_control_that_leaves_replacements_where_they_are_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context_inference, "_exchange", lambda places, _: list(places))
    scores = attacked.__wrapped__(keep_first_letter)
    control = scores.control.figures[0]
    p = budget.at_most(round(control.value * control.n), control.n, scores.chance[GUESSED])
    assert budget.rejects(CHECK, "control", [p]), control


def test_what_stayed_is_guessed_and_so_are_codes_that_were_met_before() -> None:
    assert attacked(keep).figure(GUESSED).value > 0.95
    # A code is known if its name stands in the known half, too: half of 240 tickets have 200 names.
    codes = attacked(pseudonym, count=240)
    assert codes.figure(GUESSED).value > 0.3
    assert codes.figure(BY_CONTEXT).value < 0.2


def test_a_name_that_stands_elsewhere_in_the_clear_is_guessed_by_context() -> None:
    """The policy misses names in small letters; a mask at one place does not help then."""
    generator = np.random.default_rng(5)
    values = [str(generator.choice(NAMES)) for _ in range(60)]
    originals = [Document(f"Dear {one}, thanks. Write to {one.lower()}.") for one in values]
    masked = [Document(f"Dear [NAME], thanks. Write to {one.lower()}.") for one in values]
    scores = ATTACK.score(Released(tuple(masked), POLICY), originals, Randomness.reproducible(1))
    assert scores.figure(BY_CONTEXT).value > 0.9


def test_too_little_to_guess_is_said() -> None:
    one = [Document(f"Dear {NAMES[0]}, hello.")]
    with pytest.raises(BadInput, match="something to confuse them with"):
        ATTACK.score(Released(tuple(one), POLICY), one, Randomness.reproducible(1))
    with pytest.raises(InvalidArgument, match="candidates"):
        ContextInference(candidates=1)


def test_scores_show_no_private_text() -> None:
    said = json.dumps(attacked(keep_first_letter).as_dict())
    assert not any(name in said for name in NAMES)
    assert json.loads(said)["details"]["by_type"][0]["places"] == COUNT


def test_few_places_are_drawn_and_said() -> None:
    generator = np.random.default_rng(1)
    originals = tickets(COUNT, generator)
    scores = replace(ATTACK, places=30).score(
        released(originals, redact, generator), originals, Randomness.reproducible(1)
    )
    assert scores.figure(GUESSED).n == 30
    assert "30 of 80 places were attacked." in scores.notes


def test_a_file_needs_its_side_file_and_its_originals(tmp_path: Path) -> None:
    soft = tmp_path / "soft.txt"
    soft.write_text("Dear X.\n")
    with pytest.raises(MissingInput, match="json is missing"):
        run_attack(ATTACK, Inputs(target=soft), Randomness.reproducible(1))
    soft.with_name("soft.txt.guarantee.json").write_text('{"settings": {"policy": "pii"}}')
    with pytest.raises(MissingInput, match="`originals=IN`"):
        run_attack(ATTACK, Inputs(target=soft), Randomness.reproducible(1))
