"""Spans over arbitrary text: which words they take, and that nothing else is touched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from properties.texts import many_spans, spans, texts
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words


@dataclass(frozen=True)
class Naive:
    """Every span against every word."""

    found: Spans

    def select(self, words: Words) -> list[int]:
        return [
            index
            for index in range(len(words))
            if any(
                span.start < words.ends[index] and words.starts[index] < span.end
                for span in self.found
            )
        ]


@given(texts, many_spans)
def test_selection_equals_the_naive_one(text: str, found: Spans) -> None:
    words = Words.of(text)
    assert found.select(words) == Naive(found).select(words)


@given(st.lists(spans, max_size=12))
def test_the_order_in_which_spans_are_found_does_not_matter(found: list[Span]) -> None:
    words = Words.of("paris cat 12 rome " * 4)
    assert Spans.of(found) == Spans.of(reversed(found))
    assert Spans.of(found).select(words) == Spans.of(found * 2).select(words)


@given(texts, st.data())
def test_a_span_that_cuts_through_a_word_takes_the_whole_word(
    text: str, data: st.DataObject
) -> None:
    words = Words.of("x " + text)
    index = data.draw(st.integers(0, len(words) - 1))
    start = data.draw(st.integers(words.starts[index], words.ends[index] - 1))
    end = data.draw(st.integers(start + 1, words.ends[index]))
    assert Spans.of([Span(start, end, "CUT")]).select(words) == [index]


@given(texts, many_spans, many_spans)
def test_more_spans_never_protect_less(text: str, one: Spans, two: Spans) -> None:
    words = Words.of(text)
    together = set((one | two).select(words))
    assert together == set(one.select(words)) | set(two.select(words))


@given(many_spans)
def test_spans_for_display_do_not_overlap(found: Spans) -> None:
    shown = list(found.disjoint())
    assert all(not a.overlaps(b) for a, b in pairwise(shown))
    assert all(any(span.overlaps(kept) for kept in shown) for span in found)
