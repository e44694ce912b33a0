"""Internet addresses of both versions."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.ip import Ip
from sfumato.policies.pii.reading import Reading


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Ip().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("from 192.0.2.1.", "192.0.2.1", "ip-4"),
        ("192.0.2.1:8080", "192.0.2.1:8080", "ip-4"),
        ("10.0.0.0/8", "10.0.0.0/8", "ip-4"),
        ("999.1.2.3", "999.1.2.3", "ip-4-shape"),
        ("ping ::1", "::1", "ip-6"),
        ("2001:db8::1/64", "2001:db8::1/64", "ip-6"),
        ("see 2001:db8:0:1:1:1:1:1, ok", "2001:db8:0:1:1:1:1:1", "ip-6"),
        ("::ffff:192.0.2.128", "::ffff:192.0.2.128", "ip-6"),
    ],
)
def test_addresses_are_found_with_their_rule(text: str, expected: str, rule: str) -> None:
    assert (expected, rule) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "at 10:20:30",
        "std::vector",
        "chapter 1.2.3.4.5",
        "a::b",
        "3.14",
        "C::",
    ],
)
def test_what_is_no_address_is_left_alone(text: str) -> None:
    assert found(text) == []
