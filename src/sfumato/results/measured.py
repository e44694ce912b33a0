"""How well a model predicts text: perplexity and top-1 accuracy, with intervals over documents.

Tokens of one document are not independent, so the intervals resample whole documents (a cluster
bootstrap). With few documents they are rough and rather too short. A single document says nothing
about others, so there is no interval.

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
        """The same for the chosen tokens."""
        return Predicted(self.losses[chosen], self.right[chosen])


@dataclass(frozen=True)
class Measured:
    """A figure with its interval, if there is one, and the number of tokens behind it."""

    metric: str
    value: float
    low: float | None
    high: float | None
    n: int


def perplexity(documents: Sequence[Predicted], randomness: Randomness) -> Measured:
    """The exponential of the mean −ln p over all tokens."""
    sums = np.array([one.losses.sum() for one in documents])
    value, ends, count = _share("perplexity", sums, documents, randomness)
    low, high = (None if end is None else _exponential(end) for end in ends)
    return Measured("perplexity", _exponential(value), low, high, count)


def accuracy(documents: Sequence[Predicted], randomness: Randomness) -> Measured:
    """The share of tokens that were the likeliest."""
    sums = np.array([one.right.sum() for one in documents], dtype=np.float64)
    value, (low, high), count = _share("accuracy", sums, documents, randomness)
    return Measured("accuracy", value, low, high, count)


Ends = tuple[float, float] | tuple[None, None]


def _share(
    what: str, sums: NDArray[np.float64], documents: Sequence[Predicted], randomness: Randomness
) -> tuple[float, Ends, int]:
    counts = np.array([len(one.losses) for one in documents], dtype=np.float64)
    if not counts.sum():
        raise BadInput(f"there is no token to measure {what} on")
    # Documents without a token say nothing about the variation between documents.
    sums, counts = sums[counts > 0], counts[counts > 0]
    return (
        float(sums.sum() / counts.sum()),
        _interval(sums, counts, randomness),
        int(counts.sum()),
    )


def _interval(
    sums: NDArray[np.float64], counts: NDArray[np.float64], randomness: Randomness
) -> Ends:
    if len(sums) == 1:
        return None, None
    resampled = np.empty(RESAMPLES)
    for place in range(RESAMPLES):
        drawn = randomness.integers(len(sums), len(sums))
        resampled[place] = sums[drawn].sum() / counts[drawn].sum()
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _exponential(mean: float) -> float:
    return math.exp(min(mean, 700.0))  # larger exponents overflow
