"""Words outside the vocabulary drawn by their shape: nothing but the shape decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import SHAPE_LEAK, OverVocabulary, draw_shape
from sfumato.policies.patterns import Digits
from sfumato.vectors.space import Space


def shape(word: str) -> list[str]:
    kinds = {"d": str.isdigit, "U": str.isupper, "l": str.isalpha}
    return [next((kind for kind, is_so in kinds.items() if is_so(one)), one) for one in word]


def same_shape(word: str) -> st.SearchStrategy[str]:
    letters = {
        "d": st.sampled_from("0123456789"),
        "U": st.sampled_from("ABCXYZÄ"),
        "l": st.sampled_from("abcxyzäß"),
    }
    return st.tuples(*(letters.get(kind, st.just(kind)) for kind in shape(word))).map("".join)


words = st.text("abzäABZÄ0189-_.", min_size=1, max_size=12)


@given(st.data())
def test_words_of_one_shape_have_one_law(data: st.DataObject) -> None:
    """With the same draws the same comes out, so nothing but the shape can matter."""
    word = data.draw(words)
    other = data.draw(same_shape(word))
    drawn = [draw_shape(one, Randomness.reproducible(3)) for one in (word, other)]
    assert drawn[0] == drawn[1]
    assert [kind in "dUl" for kind in shape(drawn[0])] == [kind in "dUl" for kind in shape(word)]


def test_the_twin_that_keeps_a_letter_is_seen() -> None:
    def keep_first(word: str, randomness: Randomness) -> str:
        return word[:1] + draw_shape(word, randomness)[1:]

    drawn = {keep_first(word, Randomness.reproducible(3)) for word in ("abc", "xbc")}
    assert len(drawn) == 2


@given(words)
def test_the_length_stays(word: str) -> None:
    assert len(draw_shape(word, Randomness.secure())) == len(word)


def test_known_words_go_through_the_mechanism_and_others_by_their_shape(
    small_space: Space,
) -> None:
    mechanism = OverVocabulary(points=Laplace(space=small_space, epsilon=1e6), unknown="shape")
    paris, code = mechanism.privatize(["paris", "Zq-77"], Randomness.reproducible(1))
    assert paris == "paris"
    assert code not in small_space.words
    assert shape(code) == shape("Zq-77")
    assert mechanism.uncovered(["paris", "Zq-77"]) == 0


def test_the_guarantee_compares_words_of_one_shape_only(small_space: Space) -> None:
    mechanism = OverVocabulary(points=Laplace(space=small_space, epsilon=2), unknown="shape")
    for guarantee in (
        mechanism.guarantee(),
        Selective(policy=Digits(), mechanism=mechanism).guarantee(),
    ):
        assert SHAPE_LEAK in guarantee.leaks
        assert "of the same shape" in guarantee.neighbors


@pytest.mark.parametrize("word", ["", "🙂", "é", "日本", "１２", "ǅ"])
def test_any_character_is_treated(word: str) -> None:
    assert len(draw_shape(word, Randomness.secure())) == len(word)
