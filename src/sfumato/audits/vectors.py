"""Anything that turns inputs into vectors or bits, as something that can be put to the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.distinguishers import vector_scores
from sfumato.audits.subject import DrawnSample, Event, Outputs, Pair, Score
from sfumato.core.randomness import Randomness

DrawVectors = Callable[[int, int, Randomness], NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class VectorSubject:
    """A few inputs, a source of output vectors, and one level claimed for every pair of them.

    ``source(number, count, randomness)`` gives ``count`` independent outputs of an input, one per
    row.

    >>> noise = lambda number, count, randomness: number + randomness.normal(count, 1)
    >>> subject = VectorSubject(claim="…", epsilon=1.0, inputs=("zero", "one"), source=noise)
    >>> [(pair.first, pair.second, pair.forward) for pair in subject.pairs()]
    [(0, 1, 1.0)]
    """

    claim: str
    epsilon: float
    inputs: tuple[str, ...]
    source: DrawVectors
    delta: float = 0.0

    def pairs(self) -> Sequence[Pair]:
        """All of them."""
        numbers = combinations(range(len(self.inputs)), 2)
        return [Pair(first, second, self.epsilon, self.epsilon) for first, second in numbers]

    def name(self, number: int) -> str:
        """What the input is called."""
        return self.inputs[number]

    def draw(self, number: int, count: int, randomness: Randomness) -> Outputs:
        """Independent outputs, one per row."""
        return self.source(number, count, randomness)

    def scores(self, pair: Pair, first: DrawnSample, second: DrawnSample) -> list[Score]:
        """What can be learned from draws; nothing is known beforehand."""
        return vector_scores((self.name(pair.first), self.name(pair.second)), first, second)

    def describe(self, event: Event, seen: DrawnSample) -> str:
        """The score and its threshold."""
        del seen
        return str(event)
