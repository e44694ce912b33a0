"""Identifiers by their looks and by what announces them."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.code import Code
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Code().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("It's 843-58572-7002.", "843-58572-7002", "code-grouped"),
        ("tracking number, AGZIM5T6KL", "AGZIM5T6KL", "code-mixed"),
        ("tracking number is ABCDEFGHIJ", "ABCDEFGHIJ", "code-context"),
        ("id 145572", "145572", "code-context"),
        ("order #4432", "4432", "code-context"),
        ("Kundennummer: 5512", "5512", "code-context"),
        ("licence 6940579", "6940579", "code-long"),
        ("QQ123456C", "QQ123456C", "code-mixed"),
        ("john1985 wrote", "john1985", "code-mixed"),
        ("RR 123 456 785 DE", "RR 123 456 785 DE", "code-parcel"),
        ("RR 12 345 6785 DE", "RR 12 345 6785 DE", "code-parcel"),
        ("1Z 999 AA1 01 2345 6784", "1Z 999 AA1 01 2345 6784", "code-parcel"),
        ("7712 3456 7890", "7712 3456 7890", "code-parcel"),
        ("9612 0123 4567 8901 2345", "9612 0123 4567 8901 2345", "code-parcel"),
        ("the one ending in 0146.", "0146", "code-ending"),
        ("card ends with **** 4431", "4431", "code-ending"),
        ("last four digits: 1234", "1234", "code-ending"),
        ("the last 4 of my card are 1234", "1234", "code-ending"),
    ],
)
def test_identifiers_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "12 apples",
        "the 1990s",
        "a 100-year-old man",
        "21st",
        "in order. 500 men",
        "0.1234567890",
        "No. 110 Squadron",
        "NATO HEADQUARTERS",
        "2020-05-06",
        "the last 12 men",
        "a series ending after 24 games",
        "in 1914 1918",
    ],
)
def test_what_is_no_identifier_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 00:1A:2B:3C:4D:5E now", ("00:1A:2B:3C:4D:5E", "code-device")),
        ("mac 001A.2B3C.4D5E.", ("001A.2B3C.4D5E", "code-device")),
        ("BIC COBADEFFXXX", ("COBADEFFXXX", "code-context")),
        ("swift code: NEDSZAJJ", ("NEDSZAJJ", "code-context")),
        ("user_id=88213 ok", ("88213", "code-context")),
        ('{"customer_id": 88213}', ("88213", "code-context")),
        ("order_no: 4711", ("4711", "code-context")),
    ],
)
def test_devices_banks_and_fields_are_found(text: str, expected: tuple[str, str]) -> None:
    assert expected in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "00:1A:2B:3C:4D",
        "00:1A:2B:3C:4D:5E:77",
        "g0:1A:2B:3C:4D:5E",
        "001A.2B3C.4D5E.6F70",
        "1234.5678.9012",
        "g01A.2B3C.4D5E",
        ".abcd.",
        "paid_up=88213",
    ],
)
def test_what_only_nearly_is_one_is_left(text: str) -> None:
    assert [rule for _, rule in found(text) if rule in ("code-device", "code-context")] == []
