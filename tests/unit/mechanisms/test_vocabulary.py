"""From spelled words to points and back: unknown words, case, and what is said about both."""

from __future__ import annotations

import pytest

from sfumato.core.errors import UnknownName, UnknownWords
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.vocabulary import (
    CASE_LEAK,
    KEPT_UNKNOWN,
    KNOWN_LEAK,
    UNKNOWN_LEAK,
    OverVocabulary,
    restore_case,
)
from sfumato.vectors.space import Space

CANARY = "zxqv81723"


def over(space: Space, **rules: str) -> OverVocabulary:
    return OverVocabulary(points=Laplace(space=space, epsilon=1.0), **rules)


def test_it_is_a_mechanism_on_words(small_space: Space) -> None:
    assert isinstance(over(small_space), Mechanism)


@pytest.mark.parametrize(("rule", "value"), [("unknown", "keeep"), ("case", "lower")])
def test_a_rule_nobody_has_is_refused(small_space: Space, rule: str, value: str) -> None:
    with pytest.raises(UnknownName, match=rule):
        over(small_space, **{rule: value})


def test_unknown_words_become_words_of_the_vocabulary(small_space: Space) -> None:
    outputs = over(small_space).privatize([CANARY, "", " ", "\n", "🙂"] * 20, Randomness.secure())
    assert set(outputs) <= set(small_space.words)
    assert len(outputs) == 100


def test_unknown_words_can_be_refused_without_being_named(small_space: Space) -> None:
    refusing = over(small_space, unknown="error")
    with pytest.raises(UnknownWords, match="2 selected words") as caught:
        refusing.privatize(["paris", CANARY, CANARY], Randomness.secure())
    assert CANARY not in str(caught.value)
    assert len(refusing.privatize(["paris", "ROME"], Randomness.secure())) == 2


def test_kept_unknown_words_stand_where_they_stood_and_are_counted(small_space: Space) -> None:
    keeping = over(small_space, unknown="keep")
    words = ["paris", CANARY, "cat", "Canary"]
    outputs = keeping.privatize(words, Randomness.secure())
    assert [outputs[1], outputs[3]] == [CANARY, "Canary"]
    assert keeping.uncovered(words) == 2
    assert over(small_space).uncovered(words) == 0


def test_keeping_unknown_words_changes_no_other_word(small_space: Space) -> None:
    # The noise of the known words must not depend on how many unknown ones stand among them.
    words = ["paris", CANARY, "cat"]
    kept = over(small_space, unknown="keep").privatize(words, Randomness.reproducible(4))
    hidden = over(small_space).privatize(words, Randomness.reproducible(4))
    assert [kept[0], kept[2]] == [hidden[0], hidden[2]]


def test_the_guarantee_names_what_each_rule_costs(small_space: Space) -> None:
    assert over(small_space).guarantee().leaks == (UNKNOWN_LEAK,)
    assert over(small_space).guarantee().uncovered == ()
    assert over(small_space, unknown="keep").guarantee().uncovered == (KEPT_UNKNOWN,)
    assert CASE_LEAK in over(small_space, case="restore").guarantee().leaks
    assert over(small_space, unknown="error").guarantee().leaks == (KNOWN_LEAK,)


def test_capitals_of_the_original_are_not_copied_unless_asked(small_space: Space) -> None:
    shouted = ["PARIS", "Rome", "cat"] * 30
    public = over(small_space).privatize(shouted, Randomness.secure())
    assert all(word == word.lower() for word in public)
    copied = over(small_space, case="restore").privatize(shouted, Randomness.secure())
    assert all(word == word.upper() for word in copied[::3])
    assert all(word[0] == word[0].upper() for word in copied[1::3])
    assert all(word == word.lower() for word in copied[2::3])


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        ("LONDON", "PARIS"),
        ("London", "Paris"),
        ("london", "paris"),
        ("A", "Paris"),
        ("iPhone", "paris"),
        ("7", "paris"),
        ("", "paris"),
    ],
)
def test_patterns_of_capitals(original: str, expected: str) -> None:
    assert restore_case("paris", original) == expected
