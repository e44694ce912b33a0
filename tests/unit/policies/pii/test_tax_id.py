"""Tax numbers of persons and companies."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.reading import Reading
from sfumato.policies.pii.tax_id import TaxId


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in TaxId().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("Steuer-ID 91086873253", "91086873253", "tax-id"),
        ("Steuer-ID: 91 086 873 253", "91 086 873 253", "tax-id"),
        ("Steuernummer 21/815/08150", "21/815/08150", "tax-id"),
        ("UTR 2533228717", "2533228717", "tax-id"),
        ("numéro fiscal 2026569537258", "2026569537258", "tax-id"),
        ("SIRET 68324998153285", "68324998153285", "tax-id"),
        ("partita IVA 08322190607", "08322190607", "tax-id"),
        ("NIP 324-624-80-38", "324-624-80-38", "tax-id"),
        ("contribuinte 203289412", "203289412", "tax-id"),
        ("24.932.664/0001-57", "24.932.664/0001-57", "tax-id"),
        ("EIN 46-2862830", "46-2862830", "tax-id"),
        ("itin 932-79-8340", "932-79-8340", "tax-id"),
        ("WLBPG9452D", "WLBPG9452D", "tax-id"),
        ("B85754802", "B85754802", "tax-id"),
        ("DE136695976", "DE136695976", "tax-id"),
        ("Steuer-ID 91086873254", "91086873254", "tax-id-context"),
        ("my tax id is 46-9999999", "46-9999999", "tax-id"),
    ],
)
def test_tax_numbers_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert found(text) == [(expected, rule)]


@pytest.mark.parametrize(
    "text",
    [
        "91086873253",
        "46-2862830",
        "mi dni es 71677027B",
        "tax of 2533228717.50",
        "DE136695977",
        "in 2024",
    ],
)
def test_arbitrary_numbers_are_left_alone(text: str) -> None:
    assert found(text) == []
