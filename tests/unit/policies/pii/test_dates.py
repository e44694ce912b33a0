"""Dates, times and years."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.dates import Dates
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Dates().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("on 2020-02-29 18:19:22", "2020-02-29 18:19:22", "date"),
        ("24.12.2022", "24.12.2022", "date"),
        ("5/6/99", "5/6/99", "date"),
        ("3 août 2021", "3 août 2021", "date"),
        ("May 7th, 2019", "May 7th, 2019", "date"),
        ("12. Oktober", "12. Oktober", "date"),
        ("2 de enero de 2020", "2 de enero de 2020", "date"),
        ("2020年5月3日", "2020年5月3日", "date"),
        ("at 5pm", "5pm", "time"),
        ("07:45", "07:45", "time"),
        ("14h30", "14h30", "time"),
        ("in 1984", "1984", "year"),
        ("the 1990s", "1990s", "year"),
        ("20240506T070809Z", "20240506T070809Z", "date"),
    ],
)
def test_dates_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "$1999",
        "12345",
        "3.1990",
        "33/44/5555",
        "1,990 people",
        "room 12",
        "8 apples",
        "maybe 5",
    ],
)
def test_what_is_no_date_is_left_alone(text: str) -> None:
    assert found(text) == []
