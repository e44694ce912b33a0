"""Recall counts protection, not labels; precision counts overlap; both are checked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.corpora.labeled import Labeled
from sfumato.policies.patterns import Digits, Everything, Nothing, Regex
from sfumato.policies.scoring import Precision, Recall, compare_with_gold
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

CALL = Labeled(
    Document("call 555 1234 now, Ann"), Spans.of([Span(5, 13, "PHONE"), Span(19, 22, "NAME")])
)
MIXED = Labeled(Document("id A7 B 9"), Spans.of([Span(3, 7, "CODE")]))


def test_recall_needs_every_word_whatever_the_label() -> None:
    report = compare_with_gold(Digits(), [CALL, MIXED])
    assert report.recall == (
        Recall("CODE", gold=1, found=0, partly=1),
        Recall("NAME", gold=1, found=0, partly=0),
        Recall("PHONE", gold=1, found=1, partly=0),
    )
    assert report.overall_recall == Recall("overall", 3, 1, 1)
    assert report.overall_recall.share == pytest.approx(1 / 3)


def test_precision_counts_spans_that_touch_gold() -> None:
    report = compare_with_gold(Digits(), [CALL, MIXED])
    assert report.precision == (Precision("NUMBER", predicted=4, right=3),)
    assert report.overall_precision.share == 0.75
    low, high = report.overall_precision.interval()
    assert low < 0.75 < high


def test_everything_has_full_recall_and_nothing_has_none() -> None:
    assert compare_with_gold(Everything(), [CALL, MIXED]).overall_recall.share == 1
    report = compare_with_gold(Nothing(), [CALL])
    assert report.overall_recall.share == 0
    assert report.overall_precision.share is None
    assert report.words == 5
    assert report.selected == 0


def test_a_span_without_words_is_left_out() -> None:
    report = compare_with_gold(
        Nothing(), [Labeled(Document("hi !!"), Spans.of([Span(3, 5, "NOISE")]))]
    )
    assert report.recall == ()
    assert report.overall_recall.share is None


def test_a_policy_that_covers_a_part_of_a_word_protects_the_whole() -> None:
    report = compare_with_gold(
        Regex("7"), [Labeled(Document("id A7 now"), Spans.of([Span(3, 5, "CODE")]))]
    )
    assert report.overall_recall.share == 1


@given(
    st.lists(st.tuples(st.integers(0, 22), st.integers(0, 22)), max_size=6).map(
        lambda pairs: Spans.of(Span(min(a, b), max(a, b), "X") for a, b in pairs)
    )
)
def test_overlap_agrees_with_the_naive_count(gold: Spans) -> None:
    document = CALL.document
    predicted = Digits().find(document)
    right = sum(any(span.overlaps(other) for other in gold) for span in predicted)
    assert compare_with_gold(Digits(), [Labeled(document, gold)]).overall_precision.right == right
