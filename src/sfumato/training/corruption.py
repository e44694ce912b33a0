"""Which tokens of a row are hidden, and what a row looks like without them.

Numbers depend on the length of the row and on public settings; places are drawn from the stream
that is passed in, and depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness


@dataclass(frozen=True)
class Hiding:
    """The share of tokens that is hidden, and how long spans are on average; ``most`` spans."""

    share: float
    length: float
    most: int = 1

    def counts(self, length: int) -> tuple[int, int]:
        """How many tokens of a row are hidden, and in how many spans.

        >>> Hiding(0.15, 3.0, 100).counts(100), Hiding(0.15, 3.0, 100).counts(1)
        ((15, 5), (1, 1))
        """
        hidden = self.tokens(length)
        kept = length - hidden
        spans = min(max(1, round(hidden / self.length)), hidden, kept + 1, max(1, self.most))
        return hidden, spans

    def tokens(self, length: int) -> int:
        """How many tokens of a row are hidden: at least one, and not all if there are two."""
        return min(max(1, round(self.share * length)), max(1, length - 1))


def draw_places(length: int, hiding: Hiding, randomness: Randomness) -> NDArray[np.int64]:
    """Single tokens to hide, in increasing order."""
    return randomness.choose(length, hiding.tokens(length))


def draw_spans(length: int, hiding: Hiding, randomness: Randomness) -> NDArray[np.bool_]:
    """Which tokens of a row are hidden, in spans of random lengths at random places.

    Both the lengths of the spans and those of what is kept between them are uniform among all that
    are possible, as in T5. A span may also begin the text, or another one not end it.
    """
    hidden, spans = hiding.counts(length)
    lengths = _parts(hidden, spans, randomness)
    # What is kept before the first span and after the last one may be empty.
    between = _parts(length - hidden + 2, spans + 1, randomness)
    between[[0, -1]] -= 1
    found = np.zeros(length, dtype=np.bool_)
    place = 0
    for kept, span in zip(between.tolist(), lengths.tolist(), strict=False):
        found[place + kept : place + kept + span] = True
        place += kept + span
    return found


def _parts(total: int, parts: int, randomness: Randomness) -> NDArray[np.int64]:
    """A number as a sum of so many numbers from 1 on, uniform among all such sums."""
    cuts = randomness.choose(total - 1, parts - 1) + 1 if parts > 1 else np.empty(0, np.int64)
    ends = np.concatenate([cuts, [total]]).astype(np.int64)
    ends[1:] -= ends[:-1].copy()
    return ends


def hidden_parts(
    row: Sequence[int] | NDArray[Any], hidden: NDArray[np.bool_], sentinels: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The row with a sentinel for every hidden span, and the spans, each after its sentinel.

    >>> hidden_parts([5, 6, 7, 8, 9], np.array([0, 1, 1, 0, 1], dtype=bool), [100, 101])
    ([5, 100, 8, 101], [100, 6, 7, 101, 9])
    """
    read: list[int] = []
    written: list[int] = []
    spans, inside = 0, False
    for token, is_hidden in zip(row, hidden.tolist(), strict=True):
        if is_hidden and not inside:
            read.append(sentinels[spans])
            written.append(sentinels[spans])
            spans += 1
        (written if is_hidden else read).append(int(token))
        inside = is_hidden
    return read, written
