"""P[y | x] for the outputs that were seen and every original that is possible.

Where a mechanism has rows they are exact. Noise mechanisms have none: there every possible original
is privatized a number of times, with noise of our own, and the outputs are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.blockwise import SIDE, PartwiseRows
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import CELLS, RowMechanism

Numbers = NDArray[np.float64]
Points = NDArray[np.intp]

# Words that are drawn for together.
DRAWN_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class Likelihood:
    """A mechanism, how its outputs look, and how often it is asked where it has no rows."""

    mechanism: PointMechanism
    seen_as: Points
    draws: int
    randomness: Randomness

    @property
    def exact(self) -> bool:
        """Whether the probabilities are those of the mechanism, and not counts."""
        return isinstance(self.mechanism, RowMechanism)

    def blocks(
        self, originals: Points, outputs: Points, done: Done | None = None
    ) -> Iterator[tuple[slice, Numbers]]:
        """Some originals at a time, with the probability of each output given each of them."""
        column = np.full(len(self.seen_as), -1, dtype=np.intp)
        column[outputs] = np.arange(len(outputs))
        column = column[self.seen_as]
        size = max(1, self._at_once(len(outputs)))
        for start in range(0, len(originals), size):
            block = slice(start, min(start + size, len(originals)))
            yield block, self._chances(originals[block], column, len(outputs))
            if done:
                done(block.stop, len(originals))

    def cautious(self, chances: Numbers) -> Numbers:
        """Exact chances as they are; counted ones a standard error lower.

        Among thousands of candidates some are drawn by luck, and a frequent word that was drawn
        once would outweigh everything else.
        """
        if self.exact:
            return chances
        counts = chances * self.draws
        lowered: Numbers = np.maximum(0.0, counts - np.sqrt(counts)) / self.draws
        return lowered

    def _at_once(self, outputs: int) -> int:
        if isinstance(self.mechanism, PartwiseRows):
            return min(SIDE, CELLS // outputs)
        return CELLS // len(self.seen_as) if self.exact else DRAWN_AT_ONCE // self.draws

    def _chances(self, originals: Points, column: Points, width: int) -> Numbers:
        mechanism = self.mechanism
        if isinstance(mechanism, PartwiseRows):
            return _from_parts(mechanism, originals, column, width)
        if isinstance(mechanism, RowMechanism):
            wanted = np.flatnonzero(column >= 0)
            chances = np.exp(mechanism.log_rows(originals)[:, wanted])
            return _gathered(chances, column[wanted], width)
        return self._from_draws(originals, column, width)

    def _from_draws(self, originals: Points, column: Points, width: int) -> Numbers:
        drawn = self.mechanism.privatize(originals.repeat(self.draws), self.randomness)
        seen = column[drawn]
        row = np.arange(len(originals)).repeat(self.draws)
        cells = (row * width + seen)[seen >= 0]
        counts = np.bincount(cells, minlength=len(originals) * width)
        found: Numbers = counts.reshape(len(originals), width) / self.draws
        return found


def _from_parts(mechanism: PartwiseRows, originals: Points, column: Points, width: int) -> Numbers:
    """Without ever holding whole rows: weights of some words at a time, and their sums."""
    found, whole = np.zeros((len(originals), width)), np.zeros(len(originals))
    for start in range(0, len(column), SIDE):
        tile = slice(start, min(start + SIDE, len(column)))
        weights = mechanism.weights(originals, tile)
        whole += weights.sum(axis=1)
        if (column[tile] >= 0).any():
            found += _gathered(weights, column[tile], width)
    found /= whole[:, None]
    return found


def _gathered(rows: Numbers, column: Points, width: int) -> Numbers:
    """The columns that are wanted; words with one spelling look the same, and their sum is seen."""
    wanted = np.flatnonzero(column >= 0)
    found = np.zeros((width, len(rows)))
    np.add.at(found, column[wanted], rows[:, wanted].T)
    return found.T
