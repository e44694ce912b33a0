"""Names by the word right before or right after them."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.around import find_cued_around
from sfumato.policies.pii.capitals import chains


def found(text: str) -> list[tuple[str, str]]:
    return [
        (text[slice(*cued.place)], cued.rule)
        for chain in chains(text, frozenset())
        for cued in find_cued_around(chain)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we spoke with Xa Qe today", ("Xa Qe", "person-role")),
        ("written by Xa Qe", ("Xa Qe", "person-role")),
        ("To: Xa Qe", ("Xa Qe", "person-role")),
        ("Client Xa Qe came", ("Xa Qe", "person-role")),
        ("in the name\nof Xa Qe", ("Xa Qe", "person-role")),
        ("Xa told us", ("Xa", "person-acting")),
        ("Xa Qe was born there", ("Xa Qe", "person-acting")),
        ("Xa works for us", ("Xa", "person-acting")),
    ],
)
def test_the_words_beside_tell_a_name(text: str, expected: tuple[str, str]) -> None:
    assert expected in found(text)


@pytest.mark.parametrize(
    "text",
    ["to Xa Qe", "client Xa", "Xa was red", "the Xa said", "Xa\nsaid", "byXa Qe", "Xa", "Xa "],
)
def test_other_words_tell_nothing(text: str) -> None:
    assert found(text) == []
