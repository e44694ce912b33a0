"""Text stays text, whatever it holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.reports.markup import Html, data_block, escape, tag
from unit.reports.reading import HOSTILE, Read

TEXTS = st.text(st.characters(exclude_categories=()), max_size=60) | st.just(HOSTILE)


@given(TEXTS, TEXTS)
def test_text_and_attributes_come_back_as_they_were(text: str, other: str) -> None:
    page = tag("p", {"class": other}, text).encode()
    (read,) = Read.of(page).elements
    printable = "".join(one for one in text if one.isprintable() or one in "\n\t")
    assert [one for one in printable if one not in read.text] == []
    assert not set(read.text) & set("\u202e\u2028\x00")
    assert read.tag == "p"
    assert list(read.attributes) == ["class"]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_text_is_exactly_kept(text: str) -> None:
    (read,) = Read.of(tag("p", {"title": text}, text).encode()).elements
    assert (read.text, read.attributes["title"]) == (text, text)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_data_come_back_and_cannot_end_their_element(value: Any) -> None:
    block = data_block("data", value)
    (read,) = Read.of(block.encode()).elements
    assert json.loads(read.text) == value
    assert block.count("<") == 2
    assert block.isascii()


def test_a_number_that_json_does_not_have_is_nothing() -> None:
    (read,) = Read.of(data_block("data", [float("inf"), float("nan"), 1.0]).encode()).elements
    assert json.loads(read.text) == [None, None, 1.0]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("script", {}),
        ("p onclick", {}),
        ("p", {"onclick": "x"}),
        ("p", {"style": "x"}),
        ("img", {"src": "x"}),
        ("a", {"href": "javascript:x"}),
        ("a", {"href": "https://example.org"}),
        ("p", {"x y": "z"}),
    ],
)
def test_what_runs_or_fetches_cannot_be_written(name: str, attributes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"may|must"):
        tag(name, attributes, "text")


@pytest.mark.parametrize("sign", ["\u202e", "\u202a", "\u2066", "\u2069"])
def test_text_cannot_turn_the_direction_of_what_follows(sign: str) -> None:
    assert sign not in escape(f"a{sign}b")


def test_letters_of_other_scripts_are_kept() -> None:
    text = "שלום مرحبا 你好 🦊 e\u0301 \u200d"
    assert escape(text) == text


def test_markup_is_not_escaped_twice() -> None:
    assert tag("p", {}, tag("b", {}, "&")) == "<p><b>&amp;</b></p>"
    assert escape(Html("<b>")) == "<b>"
