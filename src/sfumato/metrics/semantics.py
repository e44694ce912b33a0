"""How far replacements are from their originals, in the public space that gave them.

The mean Euclidean distance between the vectors of a word and of its replacement, a word that stayed
counting as 0; and the same as a share of the distance between two words drawn at random, so that 1
means "no nearer than any word". It speaks of these vectors, not of meaning itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.vectors.space import Space

PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class SemanticDistance:
    """A mean distance, alone and relative to random pairs of words."""

    mean: float
    relative: float


def semantic_distance(
    originals: NDArray[np.intp], replacements: NDArray[np.intp], space: Space, typical: float
) -> SemanticDistance:
    """From known originals to their replacements; ``typical`` is ``random_pairs_distance``."""
    mean = _mean_distance(space, originals, replacements)
    return SemanticDistance(mean, mean / typical if typical else 0.0)


def random_pairs_distance(space: Space, randomness: Randomness) -> float:
    """The mean distance between two words, each drawn from the whole public vocabulary."""
    first = randomness.integers(len(space), PAIRS).astype(np.intp)
    second = randomness.integers(len(space), PAIRS).astype(np.intp)
    return _mean_distance(space, first, second)


def _mean_distance(space: Space, first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
    steps = space.at(first) - space.at(second)
    return float(np.sqrt(np.einsum("nd,nd->n", steps, steps)).mean())
