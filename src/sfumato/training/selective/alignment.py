"""From places in a text to its tokens, for any subword tokenizer.

A token is inside if it shares a character with a place: a token that spells the end of a public
word and the beginning of a private one is private as a whole. Tokens that spell no character of the
text, such as those for the beginning and the end of a document, are nobody's secret.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.tokenizers.tokenizer import Tokenizer

Place = tuple[int, int]


def inside(text: str, places: Sequence[Place], tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """For every token of a text whether it shares a character with one of the places."""
    return overlapping(tokenizer.places(text), places, len(text))


def overlapping(tokens: Sequence[Place], places: Sequence[Place], length: int) -> NDArray[np.bool_]:
    """For every token, given by its characters, whether it shares one with a place.

    >>> overlapping([(0, 2), (2, 5), (5, 6)], [(4, 5)], 6).tolist()
    [False, True, False]
    """
    steps = np.zeros(length + 1, dtype=np.int64)
    for start, end in places:
        if start < end:
            steps[start] += 1
            steps[end] -= 1
    # How many covered characters stand before each character.
    before = np.concatenate([[0], np.cumsum(np.cumsum(steps)[:-1] > 0)])
    return np.array([before[end] > before[start] for start, end in tokens], dtype=np.bool_)
