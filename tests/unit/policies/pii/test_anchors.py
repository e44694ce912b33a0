"""Anchored expressions find what a search through the whole text finds."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policies.pii import cues
from sfumato.policies.pii.anchors import Anchor, Anchored, either_case, first_words
from sfumato.policies.pii.expressions import Expression

PATTERN = Expression(r"\b(?:[Mm]y|[Mm]ein) (?:cat|Katze)(?: and my cat)?")
WORDS = either_case(("my", "mein"))


@given(st.lists(st.sampled_from(("my", "My", "mein", " ", "cat", "Katze", "and", "ß", "1", "\n"))))
def test_matches_are_those_of_a_search(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = [match.span() for _, match in Anchored([Anchor(PATTERN, WORDS)]).find(text)]
    assert found == [match.span() for match in PATTERN.finditer(text)]


def test_matches_of_one_expression_do_not_overlap() -> None:
    found = [match[0] for _, match in Anchored([Anchor(PATTERN, WORDS)]).find("my cat and my cat")]
    assert found == ["my cat and my cat"]


def test_twin_that_lacks_a_first_word_misses_matches() -> None:
    found = list(Anchored([Anchor(PATTERN, {"my"})]).find("mein cat"))
    assert found == []


@pytest.mark.parametrize("phrases", [cues.INTRODUCING, cues.FIELDS, cues.CLOSINGS])
def test_a_phrase_begins_with_one_of_its_first_words(phrases: str) -> None:
    for phrase in phrases.strip().splitlines():
        for word in first_words([phrase]):
            assert regex.match(phrase, word, partial=True), (phrase, word)
