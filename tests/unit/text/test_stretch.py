"""Stretches: whole pieces, one name each, and nothing that a span covers is left out."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from properties.texts import many_spans, texts
from sfumato.text.span import Span, Spans, stretches
from sfumato.text.words import Words


def found(text: str, *spans: tuple[int, int, str]) -> list[tuple[str, str]]:
    named = Spans.of(Span(*span) for span in spans)
    return [(one.text, one.label) for one in stretches(named, Words.of(text))]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], []),
        ([(0, 3, "A")], [("abc", "A")]),
        ([(0, 3, "A"), (4, 7, "B")], [("abc", "A"), ("def", "B")]),  # a blank between
        ([(0, 4, "B"), (4, 7, "A")], [("abc def", "B")]),  # they touch: the first names both
        ([(0, 7, "B"), (4, 7, "A")], [("abc def", "B")]),  # the first
        ([(0, 3, "A"), (0, 7, "B")], [("abc def", "B")]),  # of those that begin there the longest
        ([(0, 7, "B"), (0, 7, "A")], [("abc def", "A")]),  # of those the first in the alphabet
        ([(1, 2, "A")], [("abc", "A")]),  # whole words
        ([(1, 5, "A")], [("abc def", "A")]),
        ([(7, 8, "A")], [(" ", "A")]),  # no word at all
        ([(2, 3, "B"), (1, 2, "A")], [("abc", "A")]),  # one word, two spans
    ],
)
def test_runs_of_covered_characters_and_their_names(
    spans: list[tuple[int, int, str]], expected: list[tuple[str, str]]
) -> None:
    for ordered in itertools.permutations(spans):
        assert found("abc def ghi", *ordered) == expected


def test_a_name_that_could_break_a_file_does_not() -> None:
    words = Words.of("abc")
    for label, kind in (("PERSON", "PERSON"), ("a\nb\t,c", "a_b_c"), ("", "ANY"), ("É-1", "É-1")):
        assert [one.kind for one in stretches(Spans.of([Span(0, 3, label)]), words)] == [kind]


def test_the_text_stands_in_no_representation() -> None:
    (one,) = stretches(Spans.of([Span(0, 5, "A")]), Words.of("Okafor"))
    assert "Okafor" not in repr(one)


@given(texts, many_spans)
def test_stretches_cover_what_spans_and_selected_words_cover(text: str, spans: Spans) -> None:
    words = Words.of(text)
    pieces = stretches(spans, words)
    covered = {place for span in spans for place in range(span.start, min(span.end, len(text)))}
    for index in spans.select(words):
        covered.update(range(words.starts[index], words.ends[index]))
    assert {place for one in pieces for place in range(one.start, one.end)} == covered
    for before, after in itertools.pairwise(pieces):
        assert before.end < after.start
    for one in pieces:
        assert one.text == text[one.start : one.end]
        assert one.cause in set(spans)


def test_what_stands_before_a_stretch_holds_nothing_of_another_one() -> None:
    text = "Ask Dr. Okafor or " + "x" * 40 + " Ada"
    spans = Spans.of([Span(8, 14, "A"), Span(len(text) - 3, len(text), "A"), Span(0, 3, "A")])
    before = [one.before for one in stretches(spans, Words.of(text))]
    assert before == ["", " Dr. ", "x" * 23 + " "]
    # Whatever stands inside the stretches, what is before them is the same.
    other = text.replace("Okafor", "Wu").replace("Ask", "Tell")
    moved = Spans.of([Span(9, 11, "A"), Span(len(other) - 3, len(other), "A"), Span(0, 4, "A")])
    assert [one.before for one in stretches(moved, Words.of(other))] == before
