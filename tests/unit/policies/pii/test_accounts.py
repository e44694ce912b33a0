"""Names under which people log in."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.accounts import find_accounts
from sfumato.policies.pii.person import Person
from sfumato.policies.pii.reading import Page, Reading


def found(text: str) -> list[str]:
    return [text[start:end] for _, (start, end) in find_accounts(Page([text]))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user=jdoe ip=10.0.0.1 status=200", "jdoe"),
        ("12:00:01 INFO auth user=jdoe action=login", "jdoe"),
        ("user_name=mara.klein;role=2", "mara.klein"),
        ('login="t_weber"', "t_weber"),
        ("Login: tweber42", "tweber42"),
        ("user: jdoe\nreset please", "jdoe"),
        ('{"user": "jdoe", "id": 5}', "jdoe"),
        ("Benutzername: kweiss", "kweiss"),
        ("usuario=lgomez", "lgomez"),
        ("nom d'utilisateur : pmartin", "pmartin"),
        ("created_by=akhan", "akhan"),
        ("usr=jdoe", "jdoe"),
        ("user=" + "a" * 41, "a" * 41),
    ],
)
def test_names_of_accounts_are_found_without_their_field(text: str, expected: str) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        *("user=root uid=1000", "User: I want a refund", "User: hello", "user: thanks, bye"),
        *("superuser=ann", "the user is jdoe", "login failed: retry", "user=tom@web.de", "user="),
        *("USR: great, cheers", "usr: nope\n", "User: Correct\nBot: fine", "user: refund, please"),
    ],
)
def test_other_words_are_left_alone(text: str) -> None:
    assert found(text) == []


def test_they_are_people() -> None:
    (span,) = Person().find(Reading.of("auth failed user=jdoe"))
    assert (span.label, span.rule) == ("PERSON", "person-account")
