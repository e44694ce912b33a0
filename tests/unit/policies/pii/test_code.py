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
    ],
)
def test_what_is_no_identifier_is_left_alone(text: str) -> None:
    assert found(text) == []
