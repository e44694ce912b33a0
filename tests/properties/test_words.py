"""Segmentation over arbitrary Unicode, against an independent implementation of UAX #29.

Only one rule is left out on purpose: an emoji that a zero-width joiner ties to a letter (WB3c) is
not part of the word, and white space or a symbol that a mark leans on is not either.
"""

from __future__ import annotations

from functools import cache

import pytest
import regex
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from uniseg import wordbreak

from properties.texts import characters, texts
from sfumato.core.errors import UndecodableText
from sfumato.text.document import Document
from sfumato.text.words import Words, _ascii

POSSESSIVE_GROUP = r"\)[?*+]\+"
CLASSES = (
    "ALetter", "CR", "Double_Quote", "Extend", "ExtendNumLet", "Format", "Hebrew_Letter",
    "Katakana", "LF", "MidLetter", "MidNum", "MidNumLet", "Newline", "Numeric", "Other",
    "Regional_Indicator", "Single_Quote", "WSegSpace", "ZWJ",
)  # fmt: skip
READABLE = (
    r"[\p{L}\p{N}\p{Alphabetic}\p{Co}\p{Cn}"
    r"\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=Katakana}]"
)
ATTACHED = r"(?:(?!\p{M})[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}])"
JOINED_EMOJI = r"\u200d\p{Extended_Pictographic}"


@cache
def by_name() -> dict[str, regex.Pattern[str]]:
    return {name.upper(): regex.compile(rf"\p{{WB={name}}}") for name in CLASSES}


def same_in_both(character: str) -> bool:
    """Whether the two libraries, with their versions of Unicode, class a character alike."""
    name = wordbreak.word_break(character).name
    return bool(by_name()[name].match(character))


def independent_words(text: str) -> list[str]:
    """The segments that hold something readable, or marks that begin a text or line."""
    leaning = r"[\p{WB=ExtendNumLet}\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
    found = []
    before = "\n"
    for segment in wordbreak.words(text):
        match = regex.match(leaning + READABLE, segment) or regex.search(READABLE, segment)
        if match:
            found.append(segment[match.start() :])
        elif before[-1] in "\r\n\v\f\x85\u2028\u2029" and regex.match(
            f"{ATTACHED}*\\p{{M}}", segment
        ):
            found.append(segment)
        before = segment
    return found


@settings(max_examples=400)
@given(texts)
@example("Call 555-1234, Zoë! 👩‍👧 can't l'eau 3.14 1,000 x_y 🇩🇪 שלום צה\"ל カタカナ")
def test_words_are_those_of_an_independent_implementation(text: str) -> None:
    assume(not regex.search(JOINED_EMOJI, text))
    assume(all(map(same_in_both, text)))
    assert list(Words.of(text)) == independent_words(text)


@given(st.text("aZ9 \n.,'-_@\":;ob1\t\0", max_size=14))
def test_the_quick_pattern_for_ascii_agrees_with_the_one_for_unicode(text: str) -> None:
    assert list(Words.of(text)) == list(Words.of(text + "\u00a0"))


def test_the_quick_pattern_has_no_possessive_group() -> None:
    """Early Pythons 3.11 match those wrongly, and "12," would be a word there."""
    assert not regex.search(POSSESSIVE_GROUP, _ascii().pattern)
    assert regex.search(POSSESSIVE_GROUP, r"[0-9]++(?:[,;.'](?=[0-9]))?+")  # as it was
    assert list(Words.of("My ID. Then 12, and 3.14; it's x_1.")) == [
        "My", "ID", "Then", "12", "and", "3.14", "it's", "x_1",
    ]  # fmt: skip


def test_the_comparison_would_see_another_rule() -> None:
    # The twin: words as runs of letters and digits, which is what many packages do.
    text = "can't 3.14 x_y"
    assert regex.findall(r"[^\W_]+", text) != independent_words(text)


@given(texts)
def test_words_are_in_order_apart_from_each_other_and_not_empty(text: str) -> None:
    words = Words.of(text)
    reached = 0
    for start, end in zip(words.starts, words.ends, strict=True):
        assert reached <= start < end <= len(text)
        reached = end
    assert list(words) == [
        text[start:end] for start, end in zip(words.starts, words.ends, strict=True)
    ]


@given(texts)
def test_every_readable_character_stands_in_a_word(text: str) -> None:
    words = Words.of(text)
    inside = {
        place
        for start, end in zip(words.starts, words.ends, strict=True)
        for place in range(start, end)
    }
    readable = {match.start() for match in regex.finditer(READABLE, text)}
    assert readable <= inside


@given(texts)
def test_replacing_nothing_gives_the_text_back(text: str) -> None:
    assert Words.of(text).replaced([], []).text == text


@given(texts)
def test_replacing_words_by_themselves_gives_the_text_back(text: str) -> None:
    words = Words.of(text)
    assert words.replaced(list(range(len(words))), list(words)).text == text


@given(texts, st.data())
def test_what_stands_between_replaced_words_is_untouched(text: str, data: st.DataObject) -> None:
    words = Words.of(text)
    chosen = [index for index in range(len(words)) if data.draw(st.booleans())]
    mark = "\U0010fffe"
    assume(mark not in text)
    pieces = words.replaced(chosen, [mark] * len(chosen)).text.split(mark)
    rebuilt = pieces[0]
    for index, piece in zip(chosen, pieces[1:], strict=True):
        rebuilt += words[index] + piece
    assert rebuilt == text


@given(texts)
def test_no_representation_shows_the_text(text: str) -> None:
    assert repr(Words.of(text)) == f"Words({len(Words.of(text))} words)"
    assert repr(Document(text)) == f"Document({len(text)} characters)"


@given(st.text(characters, max_size=5), st.integers(0xD800, 0xDFFF), st.text(max_size=5))
def test_half_a_character_is_refused_without_being_quoted(
    before: str, surrogate: int, after: str
) -> None:
    secret = f"SECRET{before}"
    with pytest.raises(UndecodableText) as caught:
        Document(f"{secret}{chr(surrogate)}{after}")
    message = str(caught.value)
    assert message == (f"the text is not valid Unicode: lone surrogate at character {len(secret)}")
    # Python prints the cause and the context of an error too; both would quote the text.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_word_in_quotation_marks_is_found_without_them() -> None:
    assert list(Words.of("'apple' and 'pear' ’orange’")) == ["apple", "and", "pear", "orange"]
