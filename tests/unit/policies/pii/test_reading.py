"""A plain text has the same length as the original, whatever the original is."""

from __future__ import annotations

import regex
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policies.pii.reading import Reading


@given(st.text())
def test_every_character_becomes_one_character(text: str) -> None:
    assert len(Reading.of(text).text) == len(text)


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert Reading.of(text).text == text


def test_look_alikes_become_what_they_stand_for() -> None:
    assert Reading.of("１２٣−４\u00a0\u2011\u2003Ａ＠ｂ．ｃ").text == "123-4 - A@b.c"


def test_a_text_with_many_kinds_of_digits_is_made_plain_too() -> None:
    digits = "".join(chr(code) for code in range(0x110000) if chr(code).isdecimal())
    assert regex.fullmatch(r"[0-9]+", Reading.of(digits).text)


def test_runs_are_joined_over_gaps_as_long_as_digits_last() -> None:
    reading = Reading.of("12-34 x 56")
    gaps = frozenset("-")
    assert list(reading.runs(0, gaps, 9)) == [(0, "12"), (1, "1234")]
    assert list(reading.runs(0, gaps, 3)) == [(0, "12")]


def test_the_text_stays_out_of_repr() -> None:
    assert "secret" not in repr(Reading.of("secret"))
