"""Places on the earth in several ways of writing."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.coordinates import Coordinates
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [
        (text[span.start : span.end], span.rule) for span in Coordinates().find(Reading.of(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("at 54.57812, -3.14277 now", "54.57812, -3.14277", "coordinates"),
        ("at 54.57812, -3.14277.", "54.57812, -3.14277", "coordinates"),
        ("geo:-33.8568,151.2153", "-33.8568,151.2153", "coordinates"),
        ("48.85837° N, 2.29448° E", "48.85837° N, 2.29448° E", "coordinates-degrees"),
        ("48°51'24\"N 2°21'03\"E", "48°51'24\"N 2°21'03\"E", "coordinates-degrees"),
        ("lat=48.20849&zoom=3", "48.20849", "coordinates-context"),
        ('"longitude": 16.37208', "16.37208", "coordinates-context"),
    ],
)
def test_coordinates_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert found(text) == [(expected, rule)]


@pytest.mark.parametrize(
    "text",
    ["3.14159", "1.25, 2.75", "99.1234, 12.1234", "12.1234, 199.1234", "v1.234.567", "20° C"],
)
def test_other_decimals_are_left_alone(text: str) -> None:
    assert found(text) == []
