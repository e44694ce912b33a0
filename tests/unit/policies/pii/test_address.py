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
        ("8 Oak View Rd", "8 Oak View Rd", "address-street"),
        ("9 bis boulevard des Arts, bât. C", "9 bis boulevard des Arts, bât. C", "address-street"),
        ("3 ter, rue Neuve, 69003 Lyon", "3 ter, rue Neuve, 69003 Lyon", "address-street"),
        ("8 Elm Blvd No. 4, Lake, MN 55845", "8 Elm Blvd No. 4, Lake, MN 55845", "address-street"),
        ("8 Elm Dr, St. Rose, LA 70046", "8 Elm Dr, St. Rose, LA 70046", "address-street"),
        ("PO Box 48 Pine Flats, NM 87505", "PO Box 48 Pine Flats, NM 87505", "address-box"),
        ("4B Gull Close Orme, BW17 9YZ", "4B Gull Close Orme, BW17 9YZ", "address-street"),
        ("5 Elm Road\nFlat 2\nOrme\n10543", "5 Elm Road\nFlat 2\nOrme\n10543", "address-street"),
        ("760 Goethestrasse 33, Ulm", "760 Goethestrasse 33, Ulm", "address-street"),
        ("12 Dalm 43 Apt. 6 Velm", "12 Dalm 43 Apt. 6 Velm", "address-street"),
        ("Lindenallee 5 D-25872 Ried", "Lindenallee 5 D-25872 Ried", "address-street"),
        (
            "Plot 12, Rose Layout, Agra - 603 855",
            "Plot 12, Rose Layout, Agra - 603 855",
            "address-parts",
        ),
        ("H.No. 7-36-389, Fort Street", "H.No. 7-36-389, Fort Street", "address-parts"),
        ("N-47, Hill Top, Agra - 355506", "N-47, Hill Top, Agra - 355506", "address-parts"),
        ("The Mill, Oak Lane, Orme, TH9 6AB", "The Mill, Oak Lane, Orme, TH9 6AB", "address-parts"),
        (
            "The Mill, Oak Lane, Orme, TH9 6AB or The Mill, Oak Lane",
            "The Mill, Oak Lane",
            "address-again",
        ),
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
        "No. 5, which was good",
        "Paris, London, Rome, 2019",
        "Chapter 12, Jane, John",
    ],
)
def test_what_is_no_address_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_a_speaker_on_the_next_line_is_no_town() -> None:
    text = "8 Elm Dr, Orme, LA 70046\nSYS: Thanks"
    assert found(text) == [("8 Elm Dr, Orme, LA 70046", "address-street")]


def test_ordinary_words_end_an_announced_address() -> None:
    assert ("12 Rosebank", "address-context") in found("my address is 12 Rosebank, please hurry")
