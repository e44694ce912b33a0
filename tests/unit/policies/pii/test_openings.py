"""The words with which expressions begin, and quick looks that never miss one of them."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policies.pii import cues, house, national_id, tax_id
from sfumato.policies.pii.lookup import Words
from sfumato.policies.pii.openings import first_words, words_of
from sfumato.policies.pii.reading import Page

CUES = [
    *(
        phrase
        for text in (cues.INTRODUCING, cues.FIELDS, cues.CLOSINGS)
        for phrase in text.split("\n")
    ),
    *house.CUES,
    *(row.cue for rows in (national_id._ROWS, tax_id._ROWS) for row in rows),
]


@pytest.mark.parametrize("pattern", [cue for cue in CUES if cue])
def test_an_expression_begins_with_its_first_words(pattern: str) -> None:
    for word in first_words([pattern]):
        assert regex.match(pattern, word.rstrip("*"), regex.IGNORECASE, partial=True), word


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("ab?c", {"ac", "abc"}),
        ("(?:a(?:b|c)|d) e", {"ab", "ac", "d"}),
        (r"tele\w*", {"tele*"}),
        ("[hm]i there", {"hi", "mi"}),
        ("(?<!x)n[°º]? ?a", {"n", "na", "nº", "nºa"}),
        ("ho{1,3}", {"ho", "ho*"}),
    ],
)
def test_all_ways_to_begin_are_found(pattern: str, expected: set[str]) -> None:
    assert words_of(pattern) - {"tele"} == expected


def test_what_can_begin_without_a_letter_is_refused() -> None:
    with pytest.raises(ValueError, match="no letter"):
        words_of("a?")


WORDS = st.text("abAB éß-’1 \n", max_size=12)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_a_word_of_a_list_is_never_missed(texts: list[str]) -> None:
    page = Page(texts)
    listed = frozenset(("ab", "a", "éa", "bab*", "*bba"))
    seen = missed_by(page.words, page, listed)
    assert seen == set()


def missed_by(words: Words, page: Page, listed: frozenset[str]) -> set[str]:
    """The words of a list that stand in the texts and are not seen."""
    offsets = page.runs.offsets.tolist()
    spelled = [
        page.texts[document][start - offsets[document] : end - offsets[document]].lower()
        for start, end in zip(words.starts.tolist(), words.ends.tolist(), strict=True)
        for document in [max(n for n, offset in enumerate(offsets) if offset <= start)]
    ]
    flags = words.among(listed).tolist()
    held = [
        word in listed
        or (word.startswith("bab") and "bab*" in listed)
        or (word.endswith("bba") and "*bba" in listed)
        for word in spelled
    ]
    return {word for word, flag, one in zip(spelled, flags, held, strict=True) if one and not flag}


def test_twin_that_looks_up_another_list_misses_words() -> None:
    class Other(Words):
        def among(self, words: frozenset[str]) -> object:  # type: ignore[override]
            return super().among(words - {"ab"})

    page = Page(["ab b"])
    assert missed_by(Other(page.runs.codes), page, frozenset(("ab",))) == {"ab"}
