"""Telephone numbers: international, by region, by their looks, in context."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.detector import DEFAULT
from sfumato.policies.pii.phone import Phone
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [
        (text[span.start : span.end], span.rule) for span in Phone(DEFAULT).find(Reading.of(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("+44 20 7946 0958", "+44 20 7946 0958", "phone-international"),
        ("0044 20 7946 0958", "0044 20 7946 0958", "phone-international"),
        ("(415) 555-0137", "(415) 555-0137", "phone-regional"),
        ("020 7946 0958", "020 7946 0958", "phone-regional"),
        ("06 12 34 56 78", "06 12 34 56 78", "phone-regional"),
        ("0171/1234567", "0171/1234567", "phone-regional"),
        ("+41 (0)38 549 02 90", "+41 (0)38 549 02 90", "phone-international"),
        ("(898)666-3621x0135", "(898)666-3621x0135", "phone-regional"),
        ("011-555-0199", "011-555-0199", "phone-regional"),
        ("555-0199", "555-0199", "phone-regional"),
        ("call 12345", "12345", "phone-announced"),
        ("98765-43210", "98765-43210", "phone-regional"),
        ("+999 12345678", "+999 12345678", "phone-international"),
    ],
)
def test_numbers_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "1914-1918",
        "in 2003 2005",
        "12.345.678 people",
        "3.14159265",
        "2020-05-06 12",
        "12345",
        "scores 21-15 21-18",
        "1 234 567 people",
        "10:20",
        "$5551234567",
        "you charged my phone $230.00 twice",
        "call it 12500 EUR",
        "phone for USD 19900",
        "the phone costs 694.00",
    ],
)
def test_what_is_no_number_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_a_number_that_no_region_has_is_found_by_its_looks() -> None:
    (span,) = Phone(("US",)).find(Reading.of("111-111-1111"))
    assert span.rule == "phone-shaped"


def test_without_regions_international_numbers_are_still_found() -> None:
    (span,) = Phone(()).find(Reading.of("+44 20 7946 0958"))
    assert span.reason == "an international number"


def test_the_reason_names_the_region() -> None:
    (span,) = Phone(("US", "FR")).find(Reading.of("06 12 34 56 78"))
    assert span.reason == "can be a number of region FR"
