"""Names by the words around them."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.person import Person
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Person().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("My name is Ada Lovelace.", "Ada Lovelace", "person-introduced"),
        ("my name is ada lovelace and", "ada lovelace", "person-introduced"),
        ("Je m'appelle Chloé", "Chloé", "person-introduced"),
        ("Name: Ann Lee", "Ann Lee", "person-field"),
        ("met Mr. Jones", "Mr. Jones", "person-title"),
        ("Dear Priya,", "Priya", "person-greeted"),
        ("Regards,\nTom van der Berg", "Tom van der Berg", "person-signed"),
        ("I'm Zoë Quinn.", "Zoë Quinn", "person-self"),
        ("patient Lena Fischer came", "Lena Fischer", "person-role"),
        ("Ann Lee\n12 Elm Road", "Ann Lee", "person-block"),
        ("SYS: full name?\nUSR: Sure, Mary Rowan.", "Mary Rowan", "person-answer"),
        ("your full name?\njoe bloggs", "joe bloggs", "person-answer"),
        ("Dear Ann, I saw Ann", "Ann", "person-again"),
        ("Margaret Hale said so", "Margaret Hale", "person-acting"),
        ("Full name: Ada", "Ada", "person-field"),
    ],
)
def test_names_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am happy to help",
        "Dear all,",
        "my name is not important",
        "Thanks! Thank you.\nSYS: Bye",
        "This is the place",
        "The file name was long",
        "hello there",
    ],
)
def test_what_is_no_name_is_left_alone(text: str) -> None:
    assert found(text) == []
