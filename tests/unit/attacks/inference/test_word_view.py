"""One word in focus: chances and guesses against rows; what is said of words without any."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.attacks.inference.word_guesses import public_knowledge
from sfumato.attacks.inference.word_view import NEVER, ViewEffort, WordView, view_word
from sfumato.core.errors import InvalidArgument, UnknownWords
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.build import build_mechanism
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.redact import Redact
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.vectors.space import Space
from unit.attacks.inference.made import rows_of
from unit.attacks.inference.test_word_guesses import BY_NOISE, WITH_ROWS, by_noise, with_rows

SECRET = "zanzibarquux"


def view(points: PointMechanism, word: str, draws: int = 400, **rules: str) -> WordView:
    over = OverVocabulary(points=points, **rules)
    return view_word(over, word, ViewEffort(draws=draws, most=20), Randomness.reproducible(1))


@pytest.mark.parametrize("name", WITH_ROWS)
def test_with_rows_all_figures_are_those_of_brute_force(small_space: Space, name: str) -> None:
    mechanism = with_rows(name, small_space)
    rows, shares = rows_of(mechanism), public_knowledge(small_space, "public").shares[:-1]
    guess = (shares[:, None] * rows).argmax(axis=0)
    total = 0.0
    for point, word in enumerate(small_space.words):
        found = view(mechanism, word)
        assert found.stays is not None
        assert found.replacements is not None
        assert found.attacker is not None
        assert found.exact
        assert found.draws == 0
        assert found.stays.value == pytest.approx(rows[point, point], abs=1e-12)
        listed = {one.word: one.share.value for one in found.replacements.words}
        assert word not in listed
        expected = {w: p for w, p in zip(small_space.words, rows[point], strict=True) if w != word}
        assert listed == pytest.approx({w: p for w, p in expected.items() if p > 0}, abs=1e-12)
        # Σ_y P[y | w] · 1[guess(y) = x], for every x; what is left out is in the interval.
        guessed = {one.word: one.share for one in found.attacker.guesses.words}
        chances = np.bincount(guess, rows[point], minlength=12)
        for other, chance in zip(small_space.words, chances.tolist(), strict=True):
            share = guessed.get(other, NEVER)
            assert share.low - 1e-9 <= chance <= share.high + 1.1e-4
        right = found.attacker.right
        assert right.low - 1e-9 <= chances[point] <= right.high + 1e-9
        assert right.high - right.low <= 1e-4
        total += shares[point] * right.value
    # Together they reach what Bayes' attacker reaches, Σ_y max_x prior(x) · P[y | x].
    most = float((shares[:, None] * rows).max(axis=0).sum())
    assert total == pytest.approx(most, abs=1e-4)


def test_a_twin_that_ignores_the_prior_does_not_reach_that(small_space: Space) -> None:
    rows = rows_of(with_rows("exponential", small_space))
    shares = public_knowledge(small_space, "public").shares[:-1]
    guess = rows.argmax(axis=0)
    total = sum(shares[x] * rows[x, y] for x in range(12) for y in range(12) if guess[y] == x)
    most = float((shares[:, None] * rows).max(axis=0).sum())
    assert total < most - 1e-3


@pytest.mark.parametrize("name", BY_NOISE)
def test_with_noise_shares_are_counts_and_add_up(small_space: Space, name: str) -> None:
    found = view(by_noise(name, small_space), "Paris", draws=100)
    assert found.stays is not None
    assert found.replacements is not None
    assert found.attacker is not None
    assert found.attacker.sees_place is not None
    assert found.attacker.belief is not None
    assert not found.exact
    assert found.draws == found.stays.draws == 100
    bars = found.replacements
    parts = [found.stays, *(one.share for one in bars.words), bars.others]
    assert sum(one.value for one in parts) == pytest.approx(1.0)
    assert all(one.low <= one.value <= one.high for one in parts)
    guesses = found.attacker.guesses
    assert sum(one.share.value for one in guesses.words) + guesses.others.value == pytest.approx(1)
    assert 0 <= found.attacker.belief <= 1
    assert found.attacker.blind.word == "paris"
    assert found.attacker.blind.right


def test_at_a_high_level_everything_stays_and_is_guessed(small_space: Space) -> None:
    for name in ("laplace", "exponential"):
        made = build_mechanism(name, space=small_space, epsilon=1e4)
        found = view(made, "quark", draws=50)
        assert found.stays is not None
        assert found.attacker is not None
        assert found.stays.value == found.attacker.right.value == 1.0
        assert not found.attacker.blind.right


def test_part_of_a_row_is_drawn_where_there_is_too_much_of_it(random_space: Space) -> None:
    made = build_mechanism("exponential", space=random_space, epsilon=0.5)
    found = view(made, "w7", draws=40)
    assert found.attacker is not None
    assert found.stays is not None
    assert (found.exact, found.draws, found.stays.draws) == (True, 20, 0)
    assert found.attacker.right.draws == 20
    assert 0 < found.attacker.settled <= 1


def test_an_unknown_word_never_stays_and_is_never_guessed(small_space: Space) -> None:
    for name in ("laplace", "exponential"):
        made = build_mechanism(name, space=small_space, epsilon=2.0)
        found = view(made, SECRET, draws=60)
        assert found.attacker is not None
        assert found.known is False
        assert (found.stays, found.attacker.right) == (NEVER, NEVER)
        assert "outside the vocabulary" in found.notes[0]
        assert found.attacker.guesses.words


def test_an_unknown_word_by_other_rules(small_space: Space) -> None:
    made = build_mechanism("laplace", space=small_space, epsilon=2.0)
    kept = view(made, SECRET, unknown="keep")
    assert kept.stays is not None
    assert (kept.stays.value, kept.attacker) == (1.0, None)
    assert "nothing hides it" in kept.notes[0]
    shaped = view(made, "Qx-77", unknown="shape")
    assert len(shaped.examples) == 8
    assert all(len(one) == 5 and one[2] == "-" for one in shaped.examples)
    assert shaped.stays is None
    with pytest.raises(UnknownWords) as raised:
        view(made, SECRET, unknown="error")
    assert SECRET not in str(raised.value)


def test_capitals_are_restored_on_what_comes_out(small_space: Space) -> None:
    made = build_mechanism("exponential", space=small_space, epsilon=2.0)
    found = view(made, "PARIS", case="restore")
    assert found.replacements is not None
    assert all(one.word.isupper() for one in found.replacements.words if one.word.isalpha())


def test_a_stretch_is_shown_by_examples() -> None:
    found = view_word(Redact(), SECRET, ViewEffort(), Randomness.reproducible(1))
    assert found.examples == ("[ANY]",)
    assert (found.epsilon, found.stays, found.attacker) == (0.0, None, None)
    assert "epsilon is 0" in found.notes[0]


def test_no_representation_shows_a_word_and_all_of_it_is_json(small_space: Space) -> None:
    made = build_mechanism("laplace", space=small_space, epsilon=2.0)
    found = view(made, SECRET, draws=20)
    assert found.attacker is not None
    assert found.replacements is not None
    told = [found, found.attacker, found.attacker.blind, found.replacements]
    for one in (*told, *found.replacements.words):
        assert SECRET not in repr(one)
        assert "paris" not in repr(one)
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["word"] == SECRET
    assert SECRET in found._repr_html_()


def test_effort_is_checked() -> None:
    with pytest.raises(InvalidArgument, match="draws"):
        ViewEffort(draws=0)
    with pytest.raises(InvalidArgument, match="most"):
        ViewEffort(most=0)
