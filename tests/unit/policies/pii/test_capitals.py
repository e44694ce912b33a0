"""Chains of words with capitals."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.capitals import chains
from sfumato.policies.pii.person import speaker_tags
from sfumato.policies.pii.reading import Page


def tags(text: str) -> frozenset[str]:
    return speaker_tags(Page([text]))[0]


def joined(text: str) -> list[str]:
    return [
        text[chain.words[0].start : chain.end_of(len(chain.words) - 1)]
        for chain in chains(text, tags(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we saw Ann S. Lee today", ["Ann S. Lee"]),
        ("Ann de la Cruz and Tom", ["Ann de la Cruz", "Tom"]),
        ("Ann. Tom", ["Ann", "Tom"]),
        ("J.R. Lee", ["J.R. Lee"]),
        ("Jean d'Aubigny", ["Jean d'Aubigny"]),
        ("Omar al-Rashid", ["Omar al-Rashid"]),
        ("O'Brien-Smith's hat", ["O'Brien-Smith"]),
        ("iPhone eBay", []),
    ],
)
def test_names_are_one_chain(text: str, expected: list[str]) -> None:
    assert joined(text) == expected


def test_tags_of_speakers_that_recur_are_left_out() -> None:
    assert tags("SYS: Hi\nUSR : Yes\nSYS: Bye\nUSR: Bye\nBob: No\nBob: So") == {"SYS", "USR"}
    assert tags("ÄB: Hi\nÄB: Yes\n1AB: Bye\n1AB: So\nÄBCD: no\nÄBCD: no") == {"ÄB"}
    assert tags("SYS: once") == frozenset()
    assert joined("SYS: hi\nSYS: no") == []


def test_a_chain_has_an_end() -> None:
    assert max(len(chain.words) for chain in chains("Ab " * 100, frozenset())) <= 12
