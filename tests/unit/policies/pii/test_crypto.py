"""Wallets: by their check, by their form, and by what announces them."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.crypto import Crypto
from sfumato.policies.pii.reading import Reading

OWN, MISTYPED = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in Crypto().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        (f"to {OWN}.", OWN, "crypto-bitcoin"),
        ("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", None, "crypto-bitcoin"),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", None, "crypto-bitcoin"),
        ("0x52908400098527886E0F7030069857D2E4169EE7", None, "crypto-ethereum"),
        (f"btc {MISTYPED}", MISTYPED, "crypto-context"),
    ],
)
def test_wallets_are_found_with_their_rule(text: str, expected: str | None, rule: str) -> None:
    assert found(text) == [(expected or text, rule)]


@pytest.mark.parametrize(
    "text",
    [
        MISTYPED,
        "0x5290840009852788",
        "Donaudampfschifffahrtsgesellschaft1",
        "1" * 40,
    ],
)
def test_other_long_words_are_left_alone(text: str) -> None:
    assert found(text) == []
