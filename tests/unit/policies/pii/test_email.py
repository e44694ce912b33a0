"""E-mail addresses: ordinary, international, without a top-level domain, spelled out."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.email import Email
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Email().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("write to a.b+c@x.example.org.", "a.b+c@x.example.org", "email"),
        ("root@localhost", "root@localhost", "email"),
        ("почта@пример.рф", "почта@пример.рф", "email"),
        ('"odd one"@x.org', '"odd one"@x.org', "email"),
        ("me@[192.0.2.1]", "me@[192.0.2.1]", "email"),
        ("joe (at) mail (dot) com", "joe (at) mail (dot) com", "email-spelled"),
        ("ann at mail dot org please", "ann at mail dot org", "email-spelled"),
        (
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@x.org",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@x.org",
            "email",
        ),
    ],
)
def test_addresses_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "five @ 3 euros",
        "@handle",
        "meet at noon",
        "a@ b",
    ],
)
def test_what_is_no_address_is_left_alone(text: str) -> None:
    assert found(text) == []
