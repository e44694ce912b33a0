"""Postcodes by their form, by what announces them, and by their place."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.detector import DEFAULT
from sfumato.policies.pii.postcode import Postcode
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [
        (text[span.start : span.end], span.rule)
        for span in Postcode(DEFAULT).find(Reading.of(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("London NW1 6XE", "NW1 6XE", "postcode"),
        ("m1 3he", "m1 3he", "postcode"),
        ("K1A 0B1", "K1A 0B1", "postcode"),
        ("1012 AB Amsterdam", "1012 AB", "postcode"),
        ("00-238 Warszawa", "00-238", "postcode"),
        ("D02 X285", "D02 X285", "postcode"),
        ("zip code 90210", "90210", "postcode-context"),
        ("Boston, MA 02110", "02110", "postcode-context"),
        ("Hauptstr. 1, 80331 München", "80331", "postcode-context"),
        ("90210-1234", "90210-1234", "postcode"),
        ("Sydney NSW 2000", "2000", "postcode-context"),
    ],
)
def test_postcodes_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "12345 people",
        "28,000 Private pilots",
        "c. 2686 BC",
        "room 1012",
        "in 1984",
        "$90210",
    ],
)
def test_what_is_no_postcode_is_left_alone(text: str) -> None:
    assert found(text) == []
