"""Account numbers with right check digits, and those that only look right."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.iban import Iban
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Iban().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("to DE89370400440532013000 today", "DE89370400440532013000", "iban"),
        ("DE89 3704 0044 0532 0130 00 and then", "DE89 3704 0044 0532 0130 00", "iban"),
        ("gb82west12345698765432", "gb82west12345698765432", "iban"),
        ("GB00WEST12345698765432", "GB00WEST12345698765432", "iban-shape"),
        ("GB00 WEST 1234 5698 7654 32", "GB00 WEST 1234 5698 7654 32", "iban-shape"),
    ],
)
def test_accounts_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "on 12 of May",
        "AB12 is a seat",
        "MH17 was a flight",
        "B12 and C13",
    ],
)
def test_what_is_no_account_is_left_alone(text: str) -> None:
    assert found(text) == []
