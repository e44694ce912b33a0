"""Social security numbers, issued or not."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.reading import Reading
from sfumato.policies.pii.ssn import Ssn


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Ssn().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("078-05-1120 was printed", "078-05-1120", "ssn-shape"),
        ("536-22-1234", "536-22-1234", "ssn"),
        ("000 12 3456", "000 12 3456", "ssn-shape"),
        ("SSN: 987654321", "987654321", "ssn-context"),
        ("xxx-xx-1234", "xxx-xx-1234", "ssn-masked"),
    ],
)
def test_numbers_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "987654321",
        "123-456-7890",
        "2020-12-3456",
        "1234-56-7890 12",
    ],
)
def test_what_is_no_number_is_left_alone(text: str) -> None:
    assert found(text) == []
