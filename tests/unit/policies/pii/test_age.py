"""Ages by the words around them; the number alone is the span."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.age import Age
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Age().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("a 34-year-old man", "34", "age"),
        ("This 79 year old female", "79", "age"),
        ("i'm 31 y/o.", "31", "age"),
        ("Pt 72yo M", "72", "age"),
        ("72F with chest pain", "72", "age"),
        ("a 17-jähriger Schüler", "17", "age"),
        ("52 Jahre alt", "52", "age"),
        ("7 Monate alt", "7", "age"),
        ("tengo 41 años", "41", "age"),
        ("niña de 14 meses de edad", "14", "age"),
        ("j'ai 27 ans", "27", "age"),
        ("My brother just turned 60", "60", "age-context"),
        ("I'll turn 23.", "23", "age-context"),
        ("Written when he was 78.", "78", "age-context"),
        ("retired at the age of 61", "61", "age-context"),
        ("aged 45", "45", "age-context"),
        ("age: 12", "12", "age-context"),
        ("age=12", "12", "age-context"),
        ("Alter: 63", "63", "age-context"),
        ("edad: 6", "6", "age-context"),
        ("she is 34 and well", "34", "age-context"),
        ("bin 29 geworden", "29", "age-context"),
    ],
)
def test_ages_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert found(text) == [(expected, rule)]


@pytest.mark.parametrize(
    "text",
    [
        "I am 10 minutes late",
        "he is 5 km away",
        "it was 30 % off",
        "page 34",
        "a warranty of 2 years",
        "he is 1990",
        "i'm 300",
        "she is 5.5",
        "image12",
        "usage: 80%",
        "$34 years",
    ],
)
def test_other_numbers_are_left_alone(text: str) -> None:
    assert found(text) == []
