"""How well a model predicts text: perplexity and top-1 accuracy, with intervals over documents.

Tokens of one document are not independent, so the intervals resample whole documents (a cluster
bootstrap); with few documents they are wide, and that is the truth.

Care
    Measured on private text, these figures are a release of their own that no guarantee of the
    model covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness

RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Predicted:
    """One document: −ln p of each token, and whether it was the likeliest."""

    losses: NDArray[np.float64]
    right: NDArray[np.bool_]

    def only(self, chosen: NDArray[np.bool_]) -> Predicted:
        """The same for some of the tokens."""
        return Predicted(self.losses[chosen], self.right[chosen])


@dataclass(frozen=True)
class Measured:
    """A figure with its interval and the number of tokens behind it."""

    metric: str
    value: float
    low: float
    high: float
    n: int


def perplexity(documents: Sequence[Predicted], randomness: Randomness) -> Measured:
    """The exponential of the mean −ln p over all tokens."""
    sums = np.array([one.losses.sum() for one in documents])
    middle = _share("perplexity", sums, documents, randomness)
    return Measured(
        "perplexity", *(math.exp(min(value, 700.0)) for value in middle[:3]), n=middle[3]
    )


def accuracy(documents: Sequence[Predicted], randomness: Randomness) -> Measured:
    """The share of tokens that were the likeliest."""
    sums = np.array([one.right.sum() for one in documents], dtype=np.float64)
    return Measured("accuracy", *_share("accuracy", sums, documents, randomness))


def _share(
    what: str, sums: NDArray[np.float64], documents: Sequence[Predicted], randomness: Randomness
) -> tuple[float, float, float, int]:
    counts = np.array([len(one.losses) for one in documents], dtype=np.float64)
    if not counts.sum():
        raise BadInput(f"there is no token to measure {what} on")
    resampled = np.empty(RESAMPLES)
    for place in range(RESAMPLES):
        drawn = randomness.integers(len(sums), len(sums))
        total = counts[drawn].sum()
        resampled[place] = sums[drawn].sum() / total if total else np.nan
    ends = np.nanquantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    low, high = (float(end) for end in ends)
    return float(sums.sum() / counts.sum()), low, high, int(counts.sum())
