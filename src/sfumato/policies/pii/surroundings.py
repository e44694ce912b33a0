"""What is known of a token by what stands around it: blanks, and how words near it are written.

The share of words with a capital and the share of words in capitals tell whether a capital means
something here; at and number signs tell a text of the kind in which names are written as handles.
Everything is a whole number from 0 to 127.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.policies.pii.features import FULL
from sfumato.policies.pii.tokens import Tokens

NUMBERS = 5  # of each token
_AROUND = 32  # tokens on either side in which capitals are counted
_CAPITAL = ("title", "mixed")
_PER_SIGN = 16

Places = NDArray[np.int64]


class Surroundings:
    """The surroundings of the tokens of some texts."""

    def __init__(self, tokens: Tokens) -> None:
        kinds = (_CAPITAL, ("shouted",), ("small", "shouted", *_CAPITAL), ("at", "hash"))
        self._counts = [
            np.append(np.int32(0), np.cumsum(tokens.among(*kind), dtype=np.int32)) for kind in kinds
        ]
        self._starts, self._ends = tokens.starts, tokens.ends
        self._bounds = np.array(tokens.bounds, dtype=np.int64).reshape(-1, 2)

    def at(self, places: Places) -> NDArray[np.float32]:
        """What is known of the tokens at some places, none of which is empty."""
        texts = np.searchsorted(self._bounds[:, 0], places, side="right") - 1
        first, last = self._bounds[texts, 0], self._bounds[texts, 1]
        low, high = np.maximum(places - _AROUND, first), np.minimum(places + _AROUND + 1, last)
        capital, shouted, words, signs = (count[high] - count[low] for count in self._counts)
        words = np.maximum(words, 1)
        found = np.empty((len(places), NUMBERS), dtype=np.float32)
        # Empty tokens, which stand between texts, begin and end where the text begins.
        starts, ends = self._starts, self._ends
        found[:, 0] = ((starts[places] > ends[places - 1]) & (places > first)) * FULL
        found[:, 1] = (starts[np.minimum(places + 1, last - 1)] > ends[places]) * FULL
        found[:, 2] = capital * FULL // words
        found[:, 3] = shouted * FULL // words
        found[:, 4] = np.minimum(signs * _PER_SIGN, FULL)
        return found
