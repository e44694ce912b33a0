"""How well a model predicts text: perplexity and top-1 accuracy, with intervals over documents.

Tokens of one document are not independent, so the intervals resample whole documents (a cluster
bootstrap). A single document says nothing about others, so there is no interval; two or three say
little, and their interval is too short.

Care
    Measured on private text, these figures are a release of their own that no guarantee of the
    model covers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import SHARE, Measured, Predicted, Range
from sfumato.statistics.shares import bootstrap_sums

# Larger exponents overflow.
MOST_LOGARITHM = 700.0


def perplexity(documents: Sequence[Predicted], randomness: Randomness) -> Measured:
    """The exponential of the mean −ln p over all tokens."""
    sums = [float(one.losses.sum()) for one in documents]
    return _over_tokens("perplexity", sums, documents, (_exponential, (1.0, None)), randomness)


def accuracy(documents: Sequence[Predicted], randomness: Randomness) -> Measured:
    """The share of tokens that were the likeliest."""
    sums = [float(one.right.sum()) for one in documents]
    return _over_tokens("accuracy", sums, documents, (_unchanged, SHARE), randomness)


def _over_tokens(
    metric: str,
    sums: Sequence[float],
    documents: Sequence[Predicted],
    scale: tuple[Callable[[Floats], Floats], Range],
    randomness: Randomness,
) -> Measured:
    """A mean over all tokens, on a scale; documents without a token say nothing."""
    transform, within = scale
    totals = np.array(
        [
            (found, float(len(one.losses)))
            for found, one in zip(sums, documents, strict=True)
            if len(one.losses)
        ]
    )
    if not len(totals):
        raise BadInput(f"there is no token to measure {metric} on")
    found = bootstrap_sums(
        metric, totals, lambda some: transform(some[:, 0] / some[:, 1]), randomness, within
    )
    return replace(found, n=int(totals[:, 1].sum()))


def _exponential(means: Floats) -> Floats:
    return np.exp(np.minimum(means, MOST_LOGARITHM))


def _unchanged(means: Floats) -> Floats:
    return means
