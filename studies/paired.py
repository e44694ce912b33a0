"""Two models compared document by document.

Documents differ much more from each other than models do, so that intervals of two perplexities
meet where every document says the same of the two. The ratio of perplexities is exp of the
difference of all losses over the number of tokens; documents are drawn again for its interval,
which is too narrow where a few documents differ much more than the others: an end close to 1 tells
little.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kept import Figures, number

Place = tuple[str, float | None]
DRAWS, SEED = 4000, 20261118
FEWEST = 10  # documents for an interval


@dataclass(frozen=True)
class Ratio:
    """A ratio of perplexities with its interval at 95 %; ``n`` documents."""

    value: float
    low: float
    high: float
    n: int

    @property
    def shown(self) -> str:
        """The ratio and its interval.

        >>> Ratio(1.2, 1.1, 1.3, 30).shown, Ratio(1.2, 1.1, 1.3, 30).apart
        ('1.20 (1.10 – 1.30)', True)
        """
        return f"{number(self.value)} ({number(self.low)} – {number(self.high)})"

    @property
    def apart(self) -> bool:
        """Whether the two models are told apart: 1 is not in the interval."""
        return self.low > 1 or self.high < 1


def ratio(
    found: Figures,
    one: Place,
    other: Place,
    exponent: float = 1.0,
    corpus: str | None = None,
) -> Ratio | None:
    """The perplexity of one model over that of another; None if one of them was not measured.

    None as well if there are too few documents for an interval. With several seeds losses are means
    over them. ``exponent`` is how many of the model's tokens there are for one of those that a
    perplexity is said of.
    """
    first, second = (_losses(found, place, corpus) for place in (one, other))
    if first is None or second is None or len(first[1]) < FEWEST:
        return None
    tokens = first[1]
    _refuse_others(tokens, second[1])
    differences = (first[0] - second[0]) * exponent
    drawn = np.random.default_rng(SEED).integers(len(tokens), size=(DRAWS, len(tokens)))
    again = np.exp(differences[drawn].sum(1) / tokens[drawn].sum(1))
    low, high = np.quantile(again, (0.025, 0.975))
    value = float(np.exp(differences.sum() / tokens.sum()))
    return Ratio(value, float(low), float(high), len(tokens))


@dataclass(frozen=True)
class Fewer:
    """How many bits fewer one model gives away than another, the mean over the same secrets."""

    value: float
    low: float
    high: float

    @property
    def shown(self) -> str:
        """The difference and its interval."""
        return f"{self.value:.2f} ({self.low:.2f} – {self.high:.2f}) bits fewer"

    @property
    def apart(self) -> bool:
        """Whether the two models are told apart: 0 is not in the interval."""
        return self.low > 0 or self.high < 0


@lru_cache(maxsize=2048)
def fewer(found: Figures, one: Place, other: Place, metric: str) -> Fewer | None:
    """The mean difference of a figure secret by secret; None if one was not measured."""
    first, second = (found.by_seed(*place, metric) for place in (one, other))
    both = [
        np.array(second[seed], dtype=np.float64) - np.array(first[seed], dtype=np.float64)
        for seed in sorted(first)
        if seed in second and len(first[seed]) == len(second[seed])
    ]
    if not both or len(both[0]) < FEWEST:
        return None
    differences = np.mean(both, axis=0)
    size = (DRAWS, len(differences))
    drawn = np.random.default_rng(SEED).integers(len(differences), size=size)
    low, high = np.quantile(differences[drawn].mean(1), (0.025, 0.975))
    return Fewer(float(differences.mean()), float(low), float(high))


def _losses(
    found: Figures, place: Place, corpus: str | None
) -> tuple[NDArray[np.float64], NDArray[np.int64]] | None:
    wanted = (*place, corpus)
    models = [
        one
        for one in found.content.get("documents", ())
        if (one["method"], one["level"], one.get("corpus")) == wanted
    ]
    if not models:
        return None
    tokens = np.array(models[0]["tokens"], dtype=np.int64)
    for one in models[1:]:
        _refuse_others(tokens, np.array(one["tokens"], dtype=np.int64))
    losses = np.array([one["losses"] for one in models], dtype=np.float64)
    return losses.mean(0), tokens


def _refuse_others(first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    if not np.array_equal(first, second):
        raise ValueError("the models were not measured on the same documents")
