"""Words outside the vocabulary drawn by their shape: nothing but the shape decides."""

from __future__ import annotations

import string
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import SHAPE_LEAK, OverVocabulary, draw_shape
from sfumato.policies.patterns import Digits
from sfumato.vectors.space import Space

STAYS = ("P", "Z", "Sc", "Sm")


def kind(character: str) -> str:
    """The shape of one character, as the guarantee states it."""
    category = unicodedata.category(character)
    if category.startswith("N"):
        return "digit"
    if category.startswith(STAYS):
        return character
    return "capital" if character.isupper() else "letter"


def shape(word: str) -> list[str]:
    return [kind(one) for one in word]


# One of each category, and what people write secrets with.
ODD = (
    "aÄßǅʰ日\u0301\u0903\u20dd1١Ⅷ½①-_«»(§.,_ \u00a0"
    "\u2028€+^🏻Ⓢⓢ🄰🇩⠓🙂™\u200b\u00ad\ufe0f\U000e0041\ue000\u0378\x00"
)
OF_KIND = {"digit": "0189٣Ⅻ⅓", "capital": "ABXYZÄΩⓈ", "letter": "abzäßж日\u0301ⓢ🇩⠓\ue000\u200b"}
words = st.text(st.characters() | st.sampled_from(ODD), min_size=1, max_size=12)


def same_shape(word: str) -> st.SearchStrategy[str]:
    return st.tuples(*(st.sampled_from(OF_KIND.get(one) or one) for one in shape(word))).map(
        "".join
    )


@given(st.data())
def test_words_of_one_shape_have_one_law(data: st.DataObject) -> None:
    """With the same draws the same comes out, so nothing but the shape can matter."""
    word = data.draw(words)
    other = data.draw(same_shape(word))
    drawn = [draw_shape(one, Randomness.reproducible(3)) for one in (word, other)]
    assert drawn[0] == drawn[1]
    assert shape(drawn[0]) == shape(word)


@pytest.mark.parametrize("start", range(0, sys.maxunicode, 0x10000))
def test_no_character_stays_but_punctuation_blanks_money_and_arithmetic(start: int) -> None:
    """All there are: what is drawn is a letter or a digit of ASCII, or it is stated to stay."""
    everything = "".join(map(chr, range(start, start + 0x10000)))
    drawn = draw_shape(everything, Randomness.reproducible(1))
    plain = set(string.ascii_letters + string.digits)
    told = [one for one, new in zip(everything, drawn, strict=True) if new not in plain]
    assert all(unicodedata.category(one).startswith(STAYS) for one in told)


def keep_all_but_letters(word: str) -> str:
    """The twin draws for letters, marks and numbers, and keeps whatever else there is."""
    return "".join("x" if unicodedata.category(one)[0] in "LMN" else one for one in word)


@pytest.mark.parametrize("word", ["Ⓢⓔⓒ", "🇩🇪", "⠓⠊", "\ue001\ue002", "a\u200bb\u200c"])
def test_the_twin_that_keeps_signs_that_can_be_read_is_seen(word: str) -> None:
    kept = {one for one in keep_all_but_letters(word) if not one.isascii()}
    assert kept
    assert not kept & set(draw_shape(word, Randomness.reproducible(3)))


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
