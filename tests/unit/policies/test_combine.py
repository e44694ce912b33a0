"""Combinations cover what they say, no more and above all no less."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.policies.combine import Minus, Priority, Union
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words

TEXT = "ab cd-ef B12 99 gh, 7x yz"


@dataclass(frozen=True)
class Given:
    """A policy that finds what it was given."""

    spans: Spans
    name: str = "given"

    def find(self, document: Document) -> Spans:  # noqa: ARG002 - what every policy takes
        return self.spans


def selected(policy: Policy, text: str = TEXT) -> list[str]:
    words = Words.of(text)
    return [words[index] for index in policy.find(Document(text)).select(words)]


def covered(spans: Spans) -> set[int]:
    return {place for span in spans for place in range(span.start, span.end)}


spans = st.lists(
    st.tuples(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)), st.sampled_from("PQ")),
    max_size=6,
).map(lambda rows: Spans.of(Span(min(a, b), max(a, b), label) for a, b, label in rows))


def test_names_say_how_policies_are_combined() -> None:
    union = Union((Digits(), Regex("a")))
    assert union.name == "digits + regex"
    assert Minus(union, Digits()).name == "(digits + regex) − digits"
    assert Priority((Digits(), Regex("a"))).name == "digits > regex"


@pytest.mark.parametrize("combination", [Union, Priority])
def test_an_empty_combination_is_refused(combination: type[Union]) -> None:
    with pytest.raises(InvalidArgument):
        combination(())


def test_a_word_covered_in_part_is_not_subtracted() -> None:
    # Digits cover 99 whole, but B12 and 7x only in part: those stay protected.
    assert selected(Minus(Everything(), Digits())) == ["ab", "cd", "ef", "B12", "gh", "7x", "yz"]


def test_subtracting_nothing_leaves_the_spans_as_they_are() -> None:
    whole = Everything().find(Document(TEXT))
    assert Minus(Everything(), Nothing()).find(Document(TEXT)) == whole
    assert Minus(Everything(), Regex("[-,]")).find(Document(TEXT)) == whole


@given(spans, spans)
def test_minus_drops_exactly_the_words_that_are_covered_whole(one: Spans, other: Spans) -> None:
    words = Words.of(TEXT)
    gone = covered(other)
    expected = [
        index
        for index in one.select(words)
        if not set(range(words.starts[index], words.ends[index])) <= gone
    ]
    assert Minus(Given(one), Given(other)).find(Document(TEXT)).select(words) == expected


@given(spans, spans)
def test_union_and_priority_cover_the_same_characters(one: Spans, other: Spans) -> None:
    document, policies = Document(TEXT), (Given(one), Given(other))
    both = covered(one) | covered(other)
    assert covered(Union(policies).find(document)) == both
    assert covered(Priority(policies).find(document)) == both


@given(spans, spans)
def test_the_first_policy_names_what_both_claim(one: Spans, other: Spans) -> None:
    mine = Spans.of(Span(span.start, span.end, "FIRST") for span in one)
    found = Priority((Given(mine), Given(other))).find(Document(TEXT))
    assert covered(Spans.of(span for span in found if span.label != "FIRST")) == (
        covered(other) - covered(one)
    )
