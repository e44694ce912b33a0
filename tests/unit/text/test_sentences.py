"""Sentences: every word is in one of them, in order, and a piece is not cut again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text.sentences import split_sentences
from sfumato.text.words import Words


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        (" \n\t … !", []),
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Ask Dr. Who at no. 5.", ["Ask Dr. Who at no. 5."]),
        ("wrapped\nline", ["wrapped line"]),
        ("A list\n1. First\n2. Second", ["A list", "1. First", "2. Second"]),
        ("没有。下一句！", ["没有。", "下一句！"]),
    ],
)
def test_a_text_is_cut_between_sentences_and_lines(text: str, wanted: list[str]) -> None:
    assert split_sentences(text) == wanted


@given(st.text(alphabet="aB1. !?\n\r\t,'\"(é😀", max_size=80))
def test_no_word_is_lost_and_none_is_made_up(text: str) -> None:
    found = split_sentences(text)
    together = "".join("".join(one.split()) for one in Words.of(text))
    assert "".join("".join(word.split()) for one in found for word in Words.of(one)) == together
    assert all(one == " ".join(one.split()) and len(Words.of(one)) for one in found)
