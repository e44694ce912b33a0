"""A sentence goes between sentences and lines; examples by hand, and words stay whole anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text.boundaries import Boundary, boundaries
from sfumato.text.words import Words

# Letters alone seldom make a boundary: this alphabet is rich in what decides about one.
TRICKY = st.text(st.sampled_from("aZé1 .!?…。\"')(\n\r\t\v\x85\u2028\u0301\u200d\ufeff🙂日'"))


def shown(text: str) -> str:
    """The text with a bar at each boundary."""
    for boundary in reversed(boundaries(text)):
        text = text[: boundary.position] + "|" + text[boundary.position :]
    return text


@pytest.mark.parametrize(
    "expected",
    [
        "|",
        "|One|",
        "|One two.|",
        "|One. |Two! |Three? |Four|",
        '|He said "stop." |She left (early). |Then rain.|',
        "|Ask Dr. Who or Mr. J. Smith of St. Ives at No. 5.|",
        "|In the U.S. Army since Jan. 4, at 5 p.m. Monday.|",
        "|See e.g. Section 3. |It costs 5. |Pay now.|",
        "|It rains, e.g. today. and more|",
        "|Well... Maybe… Yes.|",
        "|What?! |No!|",
        "|1. First item\n|2. Second item|",
        "|version 3.14 of a.b.c|",
        "|今日は。|雨です。|そう|",
        "|「雨です。」|そう|",
        "|雨。'I am|",
        "|A line\n|Another line\n|",
        "|A wrapped\nline. |Next\r\n|Last|",
        "|Ends here.\n|small start\n|\n|again|",
        "|SYS: Who?\r\n|USR: Bo Li\r\n|SYS: Thanks.|",
        "|the end . |The next|",
        "\u0301x. |Y|",
        "\ufeffText. |More|",
    ],
)
def test_boundaries_stand_where_a_reader_would_put_them(expected: str) -> None:
    assert shown(expected.replace("|", "")) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Boundary(0, "", "")),
        ("One", Boundary(3, " ", "")),
        ("One. ", Boundary(5, "", "")),
        ("One\n", Boundary(4, "", "\n")),
        ("One\r\n", Boundary(5, "", "\r\n")),
        ("A\r\nBo", Boundary(5, "\r\n", "")),
        ("A\nBo.", Boundary(5, " ", "")),
        ("A\nBo.\u201d", Boundary(6, " ", "")),
    ],
)
def test_the_end_gets_the_separator_that_fits(text: str, expected: Boundary) -> None:
    assert boundaries(text)[-1] == expected


@given(st.text() | TRICKY)
def test_words_stay_whole_at_every_boundary(text: str) -> None:
    words = _words(text)
    for position, before, after in boundaries(text):
        changed = f"{text[:position]}{before}My ID.{after}{text[position:]}"
        index = len(_words(text[:position]))
        assert _words(changed) == [*words[:index], "My", "ID", *words[index:]]


def _words(text: str) -> list[str]:
    # A mark that opens a text, with nothing to stand on, may take the space after it along.
    return [word.strip() for word in Words.of(text)]


@given(st.text() | TRICKY)
def test_boundaries_are_different_and_in_order_and_the_end_is_one(text: str) -> None:
    positions = [boundary.position for boundary in boundaries(text)]
    assert positions == sorted(set(positions))
    assert positions[-1] == len(text)


@given(st.text() | TRICKY)
def test_separators_are_white_space_and_bring_no_new_kind_of_break(text: str) -> None:
    for _, before, after in boundaries(text):
        for separator in (before, after):
            assert separator in ("", " ") or (separator.isspace() and separator in text)


@given(st.text() | TRICKY)
def test_a_carriage_return_and_its_line_feed_stay_together(text: str) -> None:
    for boundary in boundaries(text):
        assert text[boundary.position - 1 : boundary.position + 1] != "\r\n"


@pytest.mark.parametrize("run", ["a", ".", "a.", '."', ". ", "\n", "'", "。"])
def test_long_runs_are_read_in_one_pass(run: str) -> None:
    # A rule that looks at a run again from each of its characters would hardly come back.
    assert boundaries(run * 100_000)[-1].position == 100_000 * len(run)
