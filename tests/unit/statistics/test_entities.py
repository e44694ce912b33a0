"""Precision, recall and F1 of spans, against counts by hand."""

from __future__ import annotations

import pytest

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.statistics.entities import Entity, Tagged, measure_entities

PER, LOC = "PER", "LOC"


def measured(documents: list[Tagged]) -> dict[str, Measured]:
    found = measure_entities(documents, [PER, LOC], Randomness.reproducible(1))
    return {one.metric: one for one in found}


def tagged(truth: set[Entity], said: set[Entity], author: str | None = None) -> Tagged:
    return Tagged(frozenset(truth), frozenset(said), author)


# Right; off by one character; of another type; missed; nothing at all.
DOCUMENTS = [
    tagged({(0, 3, PER)}, {(0, 3, PER)}),
    tagged({(0, 3, PER)}, {(0, 4, PER)}),
    tagged({(0, 3, LOC)}, {(0, 3, PER)}),
    tagged({(0, 3, LOC), (5, 9, LOC)}, {(5, 9, LOC)}),
    tagged(set(), set()),
]


def test_spans_count_by_both_borders_and_type() -> None:
    found = measured(DOCUMENTS)
    assert found["precision"].value == pytest.approx(2 / 4)
    assert found["recall"].value == pytest.approx(2 / 5)
    assert found["f1"].value == pytest.approx(4 / 9)
    assert found["precision, PER"].value == pytest.approx(1 / 3)
    assert found["recall, LOC"].value == pytest.approx(1 / 3)
    assert found["f1, LOC"].value == pytest.approx(2 / 4)
    assert {one.n for one in found.values()} == {5}
    for one in found.values():
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.value <= one.high


def test_a_type_that_does_not_occur_has_no_figure() -> None:
    found = measured([tagged({(0, 3, PER)}, set()), tagged({(1, 3, PER)}, {(1, 3, PER)})])
    assert set(found) == {*(f"{one}{of}" for one in ("precision", "recall", "f1")
                            for of in ("", ", PER"))}  # fmt: skip
    nothing = measured([tagged({(0, 3, PER)}, set()), tagged({(1, 3, PER)}, set())])
    assert nothing["precision"].value == nothing["f1"].value == 0


def test_documents_of_an_author_count_together() -> None:
    right, wrong = ({(0, 3, PER)}, {(0, 3, PER)}), ({(0, 3, PER)}, {(0, 2, PER)})
    apart = [tagged(*(right if place % 2 else wrong)) for place in range(24)]
    owned = [tagged(*(right if place % 2 else wrong), author=f"{place % 4}") for place in range(24)]
    widths = []
    for documents in (apart, owned):
        one = measured(documents)["recall"]
        assert one.value == pytest.approx(0.5)
        widths.append((one.high or 0) - (one.low or 0))
    assert widths[1] > 1.5 * widths[0]


def test_without_spans_nothing_is_measured() -> None:
    for documents in ([], [tagged(set(), set())]):
        with pytest.raises(BadInput):
            measured(documents)
