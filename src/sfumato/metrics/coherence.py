"""Whether privatized text still reads like text to a public language model.

The model is given the originals and the privatized documents; the ratio of the two perplexities
says how much stranger the text has become (1: not at all). Originals and privatized documents have
different tokens, so the two are means over different numbers of them; the interval of the ratio
resamples documents, each with what became of it.

Care
    The model must be public: one that was trained on the originals would find them familiar for
    another reason. Fluent is not faithful: a model may find a wrong word perfectly natural.
    Measured on private text, the figures are a release of their own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured, Predicted, perplexity
from sfumato.statistics.shares import bootstrap_sums


@dataclass(frozen=True, slots=True)
class Coherence:
    """Perplexity before and after, and by what factor it has grown."""

    before: Measured
    after: Measured
    ratio: Measured


def measure_coherence(
    before: Sequence[Predicted], after: Sequence[Predicted], randomness: Randomness
) -> Coherence:
    """Compare what a model made of some documents with what it made of their privatized form."""
    if len(before) != len(after):
        raise BadInput(
            f"{len(before)} documents before and {len(after)} after: they must be the same ones"
        )
    first = perplexity(before, randomness.stream(0))
    second = perplexity(after, randomness.stream(1))
    return Coherence(first, second, _ratio(before, after, randomness.stream(2)))


def _ratio(
    before: Sequence[Predicted], after: Sequence[Predicted], randomness: Randomness
) -> Measured:
    sums = np.array(
        [
            [one.losses.sum(), len(one.losses), other.losses.sum(), len(other.losses)]
            for one, other in zip(before, after, strict=True)
        ]
    )
    # A document without a token on one side says nothing about a change.
    sums = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    if not len(sums):
        raise BadInput("no document has a token both before and after")
    return bootstrap_sums("perplexity ratio", sums, _growth, randomness)


def _growth(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    logs = sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]
    return np.array([math.exp(min(one, 700.0)) for one in logs])
