"""Card numbers by Luhn's check, by their grouping, and in context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum import luhn

from sfumato.policies.pii.card import Card, passes_luhn
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Card().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("4111111111111111", "4111111111111111", "card-luhn"),
        ("4111 1111 1111 1111 05 27", "4111 1111 1111 1111", "card-luhn"),
        ("3782-822463-10005", "3782-822463-10005", "card-luhn"),
        ("1234-5678-1234-5678", "1234-5678-1234-5678", "card-grouped"),
        ("my visa is 4111111111111112", "4111111111111112", "card-context"),
        ("Kreditkarte: 123412341234", "123412341234", "card-context"),
    ],
)
def test_numbers_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        "call 212-555-0187",
        "it cost 1234 5678",
        "12345678901234567890123",
    ],
)
def test_what_is_no_card_is_left_alone(text: str) -> None:
    assert found(text) == []


@given(st.text("0123456789", min_size=1, max_size=19))
def test_the_check_is_that_of_python_stdnum(digits: str) -> None:
    assert passes_luhn(digits) == luhn.is_valid(digits)
