"""Guarantees made of parts: how they compose, what they refuse, and how they are said."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import IncomparableGuarantees, InvalidArgument
from sfumato.guarantees.guarantee import (
    Guarantee,
    Notion,
    Part,
    independent,
    metric_dp,
    no_guarantee,
)
from sfumato.guarantees.parts import add_levels, by_type, document_levels, part_of
from sfumato.guarantees.wording import per_document, per_word

SPACE = object()
NAMES = independent().leaking("the type")
DATES = metric_dp(epsilon=0.1, metric="days", unit="document", about=(SPACE,))
PLACES = metric_dp(epsilon=0.02, metric="km", unit="stretch", about=(SPACE,))
WORDS = metric_dp(epsilon=5, metric="Euclidean", about=(SPACE,)).not_covering("rare words")


def table(*parts: Part) -> Guarantee:
    return by_type(
        parts
        or (
            Part(("PERSON", "EMAIL"), NAMES),
            Part(("DATE_TIME",), DATES),
            Part(("LOCATION",), PLACES),
            Part((), WORDS),
        )
    )


def test_the_whole_shows_and_leaves_out_what_any_part_does() -> None:
    whole = table()
    assert whole.notion is Notion.BY_TYPE
    assert whole.epsilon == 5
    assert whole.leaks == ("the type",)
    assert whole.uncovered == ("rare words",)
    assert whole.for_release
    assert not table(Part((), no_guarantee(unit="stretch"))).for_release


def test_a_guarantee_by_type_comes_back_from_json_as_it_was() -> None:
    assert Guarantee.from_dict(json.loads(json.dumps(table().as_dict()))) == table()


def test_a_type_without_a_part_of_its_own_has_that_of_all_others() -> None:
    assert part_of(table(), "EMAIL") is NAMES
    assert part_of(table(), "CODE") is WORDS
    with pytest.raises(InvalidArgument, match="CODE"):
        part_of(table(Part(("PERSON",), NAMES)), "CODE")


def test_a_document_adds_up_by_distance() -> None:
    counts = {"PERSON": 9, "DATE_TIME": 4, "LOCATION": 3, "CODE": 2, "OTHER": 1}
    levels = document_levels(table(), counts)
    # Names cost nothing, one shift of all dates is charged once, places and words one by one.
    assert levels == {"days": 0.1, "km": pytest.approx(0.06), "Euclidean": 15.0}
    assert document_levels(table(), {"PERSON": 3}) == {}
    assert document_levels(table(), {}) == {}


def test_the_twin_that_charges_one_draw_for_many_is_seen() -> None:
    """Dates that each have a draw of their own must be charged one by one."""
    each = table(Part((), replace(DATES, unit="stretch")))
    assert document_levels(each, {"DATE_TIME": 4}) == {"days": pytest.approx(0.4)}


def test_levels_in_different_distances_do_not_add_up() -> None:
    assert add_levels({"km": 2.0}) == 2.0
    assert add_levels({}) == 0.0
    with pytest.raises(IncomparableGuarantees, match="different distances"):
        add_levels({"km": 2.0, "days": 1.0})
    assert add_levels({"km": 2.0, "": math.inf}) == math.inf


def test_two_releases_add_up_part_by_part() -> None:
    both = table().then(table())
    assert [part.guarantee.epsilon for part in both.parts] == [0.0, 0.2, 0.04, 10]
    assert both.epsilon == 10


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((Part(("PERSON",), NAMES), Part((), WORDS)), id="other types"),
        pytest.param((Part(("PERSON", "EMAIL"), NAMES), Part((), PLACES)), id="other distances"),
        pytest.param(
            (Part(("PERSON", "EMAIL"), replace(WORDS, scope="names")), Part((), WORDS)),
            id="other notions",
        ),
    ],
)
def test_tables_of_different_parts_do_not_add_up(other: tuple[Part, ...]) -> None:
    mine = table(Part(("PERSON", "EMAIL"), NAMES), Part((), WORDS))
    with pytest.raises(IncomparableGuarantees):
        mine.then(table(*other))
    with pytest.raises(IncomparableGuarantees):
        mine.then(WORDS)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((), "needs a part"),
        ((Part(("A",), NAMES), Part(("B", "A"), WORDS)), "two parts speak of the type 'A'"),
        ((Part((), NAMES), Part((), WORDS)), "all other types"),
        ((Part((), table()),), "not itself be by type"),
    ],
)
def test_a_table_that_cannot_be_is_refused(parts: tuple[Part, ...], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        by_type(parts)


@given(st.floats(min_value=1e-9, max_value=1e9))
def test_independence_has_no_other_level_than_zero(epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        replace(NAMES, epsilon=epsilon)


def test_parts_and_the_notion_go_together() -> None:
    with pytest.raises(InvalidArgument, match="parts"):
        replace(table(), parts=())
    with pytest.raises(InvalidArgument, match="parts"):
        replace(NAMES, parts=table().parts)


def test_the_sentence_says_for_each_type_what_is_proven() -> None:
    sentence = table().sentence()
    assert (
        "[PERSON, EMAIL] For every stretch, what is put in its place is chosen without" in sentence
    )
    assert "exp(0.1·d) times likelier" in sentence
    assert "counts once, being one draw" in sentence
    assert "adds up across its privatized stretchs" not in sentence
    assert "[everything else] For every word" in sentence
    assert "not covered: rare words" in sentence
    assert sentence.endswith("still visible: the type.")


def test_a_word_and_a_document_are_said_by_type() -> None:
    assert "exactly as likely" in per_word(table())
    assert "DATE_TIME: one draw treats all of a document" in per_document(table())
    assert "side by side" in per_document(table())


@pytest.mark.parametrize("label", ["DATE", "DATE_OF_BIRTH", "date of birth", "DATE_TIME"])
def test_a_type_is_found_by_any_of_its_names(label: str) -> None:
    for name in ("DATE_TIME", "DOB"):
        whole = table(Part((name,), DATES), Part((), NAMES))
        assert document_levels(whole, {label: 2}) == {"days": 0.1}
    assert document_levels(table(), {"GPE": 2, "CITY": 1}) == {"km": pytest.approx(0.06)}
    assert document_levels(table(), {"DATE": 1, "DOB": 3}) == {"days": 0.1}


def test_two_draws_for_a_document_are_charged_twice_though_they_say_the_same() -> None:
    whole = table(Part(("DATE_TIME",), DATES), Part(("TIME",), DATES))
    assert document_levels(whole, {"DATE": 1, "TIME": 1}) == {"days": 0.2}


def test_a_statement_without_parts_is_about_every_type() -> None:
    assert document_levels(PLACES, {"LOCATION": 2, "PERSON": 1}) == {"km": pytest.approx(0.06)}


def damaged(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(table().as_dict()))
    change(values)
    return values


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(epsilon=0.1),
        lambda one: one.update(epsilon=6.0),
        lambda one: one.update(leaks=[]),
        lambda one: one.update(uncovered=[]),
        lambda one: one.update(leaks="the type"),
        lambda one: one.update(for_release="false"),
        lambda one: one.update(scope=7),
        lambda one: one["parts"].append(one["parts"][0]),
        lambda one: one["parts"][0].update(types="PERSON"),
        lambda one: one["parts"][0].update(types=[]),
        lambda one: one["parts"][0].update(types=["GPE"]),
        lambda one: one["parts"][0].pop("guarantee"),
        lambda one: one["parts"][0].update(guarantee=table().as_dict()),
        lambda one: one["parts"][0]["guarantee"].update(for_release=False),
        lambda one: one["parts"][1]["guarantee"].update(delta=0.1),
        lambda one: one["parts"][3]["guarantee"].update(epsilon=50),
        lambda one: one["parts"][1]["guarantee"].update(epsilon=-1),
        lambda one: one.update(parts=[]),
        lambda one: one.update(unchanged={"a date": 2}),
    ],
)
def test_a_damaged_table_is_refused(change: Callable[[dict[str, Any]], object]) -> None:
    assert Guarantee.from_dict(damaged(lambda _: None)) == table()
    with pytest.raises(InvalidArgument):
        Guarantee.from_dict(damaged(change))


def test_what_mostly_stays_is_said_and_comes_back_from_json() -> None:
    dates = replace(DATES, unchanged=(("a full date", 0.05), ("a year alone", 1.0)))
    whole = table(Part(("DATE_TIME",), dates), Part((), NAMES))
    assert Guarantee.from_dict(json.loads(json.dumps(whole.as_dict()))) == whole
    assert "a full date about 5 %, a year alone above 99 %" in whole.sentence()
    assert "a year alone: these mostly stay" in whole.summary()[1]
    assert "a full date:" not in whole.summary()[1]
    assert "stay" not in table().summary()[1]


def test_what_a_document_is_can_be_said() -> None:
    assert table().of_documents("line").sentence().count("one document being one line") == 1
    assert "being one line" in DATES.of_documents("line").sentence()
    assert WORDS.of_documents("line") == WORDS
    with pytest.raises(IncomparableGuarantees, match="record"):
        table().of_documents("line").then(table().of_documents("file"))
