"""National identifiers: by their check digits, by their form, and by what announces them."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.national_id import NationalId
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [
        (text[span.start : span.end], span.rule) for span in NationalId().find(Reading.of(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("158077576086350", "158077576086350"),
        ("sécu 1 58 07 75 760 863 50 svp", "1 58 07 75 760 863 50"),
        ("89011395848", "89011395848"),
        ("CNP 2791021128609", "2791021128609"),
        ("BSN 120711539", "120711539"),
        ("rijksregister 50.03.03-356.43", "50.03.03-356.43"),
        ("820812-6972", "820812-6972"),
        ("560918/1688", "560918/1688"),
        ("AMKA 10127721859", "10127721859"),
        ("NHS no 417 650 6547", "417 650 6547"),
        ("aadhaar 4283 9183 1355", "4283 9183 1355"),
        ("cpf 409.911.779-08", "409.911.779-08"),
        ("71677027B", "71677027B"),
        ("DNI 71.677.027-B", "71.677.027-B"),
        ("X5606203E", "X5606203E"),
        ("VRDLCU82A41F205P", "VRDLCU82A41F205P"),
        ("PW 41 70 93 C", "PW 41 70 93 C"),
        ("AB123456C", "AB123456C"),
        ("65 170839 J 003", "65 170839 J 003"),
        ("AHV 756.7834.7019.83", "756.7834.7019.83"),
    ],
)
def test_numbers_that_pass_are_found(text: str, expected: str) -> None:
    assert found(text) == [(expected, "national-id")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PESEL 89011395849", "89011395849"),
        ("my BSN is 120711538", "120711538"),
        ("NHS number: 417 650 6548", "417 650 6548"),
        ("CPF 409.911.779-09", "409.911.779-09"),
        ("dni 71677027C", "71677027C"),
    ],
)
def test_numbers_that_fail_are_found_when_announced(text: str, expected: str) -> None:
    assert found(text) == [(expected, "national-id-context")]


@pytest.mark.parametrize(
    "text",
    [
        "120711539",
        "89011395849",
        "4283 9183 1356",
        "71677027C",
        "020 7946 0958",
        "order 843-58572-7002",
        "1890113958481",
        "BSN. Call 120711539",
        "89011395848.50",
    ],
)
def test_arbitrary_numbers_are_left_alone(text: str) -> None:
    assert found(text) == []
