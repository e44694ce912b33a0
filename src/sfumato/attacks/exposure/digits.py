"""All numbers of a space as tokens, without tokenizing each of them.

Why it gives the same
    If no token of the vocabulary holds a digit together with another character, every digit is a
    token of its own, whatever stands around it, and nothing is joined across it. So two texts that
    differ in digits only have the same tokens everywhere else, and the tokens of ten texts, one for
    each digit, are those of all. A tokenizer could still treat some digits apart before it looks
    for tokens; so some hundred numbers all over the space are tokenized as a check, and if one
    comes out otherwise, or if the vocabulary joins digits, all texts are tokenized one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.exposure.spaces import SLOTS, SecretSpace
from sfumato.tokenizers.tokenizer import Tokenizer

NOTHING = -1
PROBES = 500
# What SentencePiece calls the token of a single byte.
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_DIGIT = re.compile(r"[0-9]")

Matrix = NDArray[np.int32]


def substituted(
    tokenizer: Tokenizer, text: Callable[[str], str], space: SecretSpace
) -> Matrix | None:
    """A row of tokens for each secret, in their order; None if it cannot be had this way.

    ``text`` puts a secret into its frame.
    """
    slots = sum(character in SLOTS for character in space.pattern)
    if "@" in space.pattern or space.size <= PROBES or not digits_apart(tokenizer):
        return None
    corners = tokenizer.encode_many([text(secret) for secret in space.corners()])
    if len({len(row) for row in corners}) > 1:
        return None
    of_digit = np.array(corners).astype(np.int32)
    places = np.flatnonzero((of_digit != of_digit[0]).any(axis=0))
    if len(places) != slots:
        return None
    matrix = np.tile(of_digit[0], (space.size, 1))
    numbers = np.arange(space.size)
    for power, place in enumerate(reversed(places.tolist())):
        matrix[:, place] = of_digit[numbers // 10**power % 10, place]
    probes = np.linspace(0, space.size - 1, PROBES).astype(np.int64)
    expected = tokenizer.encode_many([text(space.secret(int(number))) for number in probes])
    same = all(
        np.array_equal(matrix[number], row) for number, row in zip(probes, expected, strict=True)
    )
    return matrix if same else None


def digits_apart(tokenizer: Tokenizer) -> bool:
    """Whether no token holds a digit together with another character."""
    special = set(tokenizer.backend.all_special_tokens)
    return all(
        len(token) == 1
        or token in special
        or _BYTE.fullmatch(token) is not None
        or _DIGIT.search(token) is None
        for token in tokenizer.backend.get_vocab()
    )
