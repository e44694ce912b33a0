"""Web addresses and bare domains."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.reading import Reading
from sfumato.policies.pii.url import Url


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Url().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("see https://x.example/a?b=c#d.", "https://x.example/a?b=c#d", "url"),
        ("(www.x.org/path)", "www.x.org/path", "url"),
        ("at example.org, or", "example.org", "domain"),
        ("sub.example.co.uk/x", "sub.example.co.uk/x", "domain"),
        ("müller.de", "müller.de", "domain"),
        ("http://localhost:8080/x", "http://localhost:8080/x", "url"),
        ("visit firma.it.", "firma.it", "domain"),
        ("ftp://a.b", "ftp://a.b", "url"),
        ("Amazon.com", "Amazon.com", "domain"),
    ],
)
def test_places_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "he left.In March",
        "a good film.it is fun",
        "main.py and lib.rs",
        "e.g. this",
        "the end.",
        "x.y.z",
        "www",
    ],
)
def test_what_is_no_place_is_left_alone(text: str) -> None:
    assert found(text) == []
