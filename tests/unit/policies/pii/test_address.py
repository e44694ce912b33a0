"""Street addresses in several orders."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.address import Address
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Address().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("at 5 Elm Avenue now", "5 Elm Avenue", "address-street"),
        (
            "322 Khan Mews Allisonville, ME 20072",
            "322 Khan Mews Allisonville, ME 20072",
            "address-street",
        ),
        ("send to 14 larch road", "14 larch road", "address-street"),
        ("8 bis rue des Lilas", "8 bis rue des Lilas", "address-street"),
        ("Goethestr. 5", "Goethestr. 5", "address-street"),
        ("Via Garibaldi 22", "Via Garibaldi 22", "address-street"),
        ("ul. Długa 7", "ul. Długa 7", "address-street"),
        ("P.O. Box 211", "P.O. Box 211", "address-box"),
        ("PSC 0919, Box 8835 APO AA 38446", "PSC 0919, Box 8835 APO AA 38446", "address-box"),
        ("Springfield, IL 62704", "Springfield, IL 62704", "address-town"),
        ("my address is 12 Rosebank", "12 Rosebank", "address-context"),
        ("Calle Mayor 14", "Calle Mayor 14", "address-street"),
        ("Kärntner Ring 4", "Kärntner Ring 4", "address-street"),
    ],
)
def test_addresses_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "2 miles down the road",
        "In spring 1973",
        "12 apples",
        "and then 2005-07-21",
        "Live on November 12",
        "$5 Elm Street",
    ],
)
def test_what_is_no_address_is_left_alone(text: str) -> None:
    assert found(text) == []
