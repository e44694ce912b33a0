"""Cutting texts into tokens, all at once, gives what a regular expression says of each."""

from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.policies.pii import numbering
from sfumato.policies.pii.tokens import Tokens

DEFINITION = regex.compile(
    r"[\p{L}\p{M}]++|\p{N}++|'(?:[stdmSTDM]|re|ve|ll|RE|VE|LL)(?![\p{L}\p{M}])"
    r"|[\n\t\v\f\x85\u2028\u2029][\n\r\t\v\f\x85\u2028\u2029]*+"
    r"|([^\s\x1c-\x1f\p{L}\p{M}\p{N}])\1*+"
)
PIECES = [
    *("Ann", "'s", "''s", "'ll", "'LL", "'x", "ann's", "don't", "12", "1234567890123", "...", "@@"),
    *(" ", "  ", "\n", "\r\n", "\r", "\n\r\n", "\t\r\t", "\x1c", "\x85", "\u2028", "\xa0", "\x00"),
    *(
        "Zoë",
        "Łukasz",
        "e\u0301",
        "愛",
        "👍🏽",
        "٣",
        "abcdefgh",
        "abcdefghi",
        "12345678",
        "\x00\x00",
    ),
]
TEXTS = st.lists(st.one_of(st.text(max_size=30), st.lists(st.sampled_from(PIECES)).map("".join)))


def defined(text: str) -> list[tuple[int, int, str]]:
    """Where tokens stand and what they look like; of figures only how many there are, to six."""
    return [(*match.span(), form_of(match[0])) for match in DEFINITION.finditer(text)]


def form_of(token: str) -> str:
    is_figure = ord(token[0]) < 0x2070 and regex.match(r"\p{N}", token)
    return "0" * min(len(token), 6) if is_figure else token


def shown(texts: list[str]) -> list[list[tuple[int, int, str]]]:
    tokens = Tokens.of(texts)
    assert len(tokens.forms) == len(set(tokens.forms))
    assert all(tokens.ids[last : last + 6].sum() == 0 for _, last in tokens.bounds)
    return [
        [
            (int(tokens.starts[place]), int(tokens.ends[place]), tokens.forms[tokens.ids[place]])
            for place in range(first, last)
        ]
        for first, last in tokens.bounds
    ]


@settings(max_examples=60)
@given(TEXTS)
def test_texts_are_cut_as_defined(texts: list[str]) -> None:
    assert shown(texts) == [defined(text) for text in texts]


def many_words() -> list[str]:
    """So many different words that some share a slot."""
    draw = np.random.default_rng(0)
    return [" ".join(map(str, draw.integers(0, 2**30, 3000))).translate(LETTERS)]


LETTERS = str.maketrans("0123456789", "abcdefghij")


def test_words_in_the_same_slot_are_told_apart() -> None:
    texts = many_words()
    assert shown(texts) == [defined(text) for text in texts]


def test_twin_that_takes_a_slot_for_a_word_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slots = (keys * numbering._SPREAD) >> np.uint64(64 - numbering._SLOTS)
        _, first, group = np.unique(slots, return_index=True, return_inverse=True)
        return first, group

    monkeypatch.setattr(numbering, "_grouped", careless)
    texts = many_words()
    assert shown(texts) != [defined(text) for text in texts]


LONG = [
    "abcdefghij abcdefghik abcdefghij abcdefghi",
    "abcdefghijklmnop abcdefghijklmnopq éabcdefghij",
]


def test_long_words_that_share_a_checksum_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "_MIX", np.uint64(0))  # then the first eight letters decide
    assert shown(LONG) == [defined(text) for text in LONG]


def test_twin_that_takes_a_checksum_for_a_word_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numbering._numbered

    def careless(*given: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        firsts, groups, equal = real(*given)
        return firsts, groups, np.ones_like(equal)

    monkeypatch.setattr(numbering, "_MIX", np.uint64(0))
    monkeypatch.setattr(numbering, "_numbered", careless)
    assert shown(LONG) != [defined(text) for text in LONG]


def test_a_rare_sign_over_and_over_is_one_token() -> None:
    """An expression that remembers every repetition would need gigabytes for a long line."""
    [[token]] = shown(["👍" * 200_000])
    assert token[:2] == (0, 200_000)
