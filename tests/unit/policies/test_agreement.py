"""Agreement of borders, checked by hand and against a naive count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.corpora.labeled import Labeled, labeled_from_record
from sfumato.policies.agreement import Agreement, Agreements, Side
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

TEXT = "call 555 1234 now, Ann"
GOLD = Spans.of([Span(5, 13, "PHONE"), Span(19, 22, "NAME")])
FOUND = Spans.of([Span(5, 13, "NUMBER"), Span(14, 20, "NAME")])


def rows(gold: Spans, found: Spans, **kinds: str) -> dict[tuple[str, str], Agreement]:
    agreements = Agreements()
    agreements.add(Labeled(Document(TEXT), gold, **kinds), found)
    return {(row.group, row.name): row for row in agreements.rows()}


def test_borders_are_counted_on_both_sides() -> None:
    counted = rows(GOLD, FOUND)
    assert counted["overall", "overall"].recall == Side(2, 1, 2, 11, 9)
    assert counted["overall", "overall"].precision == Side(2, 1, 2, 14, 9)
    assert counted["type", "PHONE"].recall == Side(1, 1, 1, 8, 8)
    assert counted["type", "PHONE"].precision == Side()
    assert counted["type", "NAME"].recall.shares() == {
        "exact": 0.0,
        "overlapping": 1.0,
        "characters": pytest.approx(1 / 3),
    }


def test_domain_and_language_are_told_apart_where_they_are_known() -> None:
    counted = rows(GOLD, FOUND, domain="chat", language="en")
    assert counted["domain", "chat"] == Agreement(
        "domain", "chat", Side(2, 1, 2, 11, 9), Side(2, 1, 2, 14, 9)
    )
    assert ("language", "en") in counted
    assert {group for group, _ in rows(GOLD, FOUND)} == {"overall", "type"}


def test_domain_and_language_come_from_the_record_and_go_back_into_it() -> None:
    record = {"id": "1", "text": "a", "domain": "log", "language": "fr", "spans": []}
    assert labeled_from_record(record).as_record() == record


def test_intervals_hold_the_shares_and_count_spans_as_trials() -> None:
    side = Side(4, 2, 3, 400, 250)
    for name, share in side.shares().items():
        low, high = side.intervals()[name]
        assert share is not None
        assert low < share < high
    assert side.intervals()["characters"][1] - side.intervals()["characters"][0] > 0.3


def test_nothing_is_known_without_spans() -> None:
    assert Side().shares() == {"exact": None, "overlapping": None, "characters": None}
    assert set(Side().intervals().values()) == {(0.0, 1.0)}


SPANS = st.lists(st.tuples(st.integers(0, 22), st.integers(0, 22)), max_size=6).map(
    lambda pairs: Spans.of(Span(min(pair), max(pair), "X") for pair in pairs)
)


@given(SPANS, SPANS)
def test_counts_agree_with_the_naive_ones(gold: Spans, found: Spans) -> None:
    counted = rows(gold, found)
    if not len(gold):
        return
    places = {place for span in found for place in range(span.start, span.end)}
    recall = counted["overall", "overall"].recall
    assert recall.spans == len(gold)
    assert recall.exact == sum(
        (one.start, one.end) in {(o.start, o.end) for o in found} for one in gold
    )
    assert recall.overlapping == sum(any(one.overlaps(other) for other in found) for one in gold)
    assert recall.covered == sum(
        place in places for one in gold for place in range(one.start, one.end)
    )
