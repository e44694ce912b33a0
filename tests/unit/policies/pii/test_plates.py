"""License plates of several countries, announced or of a form of their own."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.plates import LicensePlate
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [
        (text[span.start : span.end], span.rule) for span in LicensePlate().find(Reading.of(text))
    ]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("parked: KA-PT 4471", "KA-PT 4471", "plate"),
        ("FK-482-QZ", "FK-482-QZ", "plate"),
        ("van reg YK71 RFO", "YK71 RFO", "plate-context"),
        ("my plate is 7KDL402,", "7KDL402", "plate-context"),
        ("Kennzeichen B MW 1234", "B MW 1234", "plate-context"),
        ("matrícula 4471 KLM", "4471 KLM", "plate-context"),
        ("targa AB 123 CD", "AB 123 CD", "plate-context"),
        ("kenteken 12-ABC-3", "12-ABC-3", "plate-context"),
        ("license plate ABC 1234", "ABC 1234", "plate-context"),
    ],
)
def test_plates_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert found(text) == [(expected, rule)]


@pytest.mark.parametrize(
    "text",
    ["YK71 RFO", "4471 KLM", "plates of steel. 12 men", "the car cost 4500 EUR.", "ABC 1234"],
)
def test_other_words_are_left_alone(text: str) -> None:
    assert found(text) == []
