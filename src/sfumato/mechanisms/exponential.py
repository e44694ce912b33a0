"""The exponential mechanism over a public vocabulary.

Guarantee
    Metric DP at level ``epsilon`` in the Euclidean distance of ``space``: for all words x, x'
    and y, P[M(x) = y] <= exp(epsilon * d(x, x')) * P[M(x') = y]. Words outside the vocabulary
    share one point, so the statement covers them too, with distance 0 between them.

Why it holds
    P[y | x] = exp(−epsilon/2 · d(x, y)) / Z(x). By the triangle inequality the numerator and Z(x)
    each change by at most the factor exp(epsilon/2 · d(x, x')) when x becomes x'.

Care
    All of W is a possible output, however far away: with many words and a small epsilon most of
    the probability lies on words that have nothing to do with the original. The vocabulary must
    be public; taking it from the private text, as the paper does, shows which words occur.

Reference
    Yue et al. 2021, "Differential privacy for text analytics via natural text sanitization"
    (SanText).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Points, Singles
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.rows import EVERY_WORD, ByDistance, distances, single_distances
from sfumato.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class Exponential(ByDistance):
    """Replace a word by one drawn with a probability that falls off with distance.

    >>> from sfumato.core.randomness import Randomness
    >>> from sfumato.vectors.load import default_space
    >>> exponential = Exponential(space=default_space(), epsilon=8)
    >>> points = exponential.space.points(["london"] * 5)
    >>> replaced = exponential.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), exponential.guarantee().epsilon
    (5, 8.0)
    >>> round(float(exponential.row(points[0]).sum()), 9)
    1.0
    """

    space: Space
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))

    def guarantee(self) -> Guarantee:
        """Metric DP in the Euclidean distance."""
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))

    def away(self, points: NDArray[np.intp], words: slice = EVERY_WORD) -> NDArray[np.float64]:
        """Euclidean distance from each point to each of the words."""
        return distances(self.space, points, words)

    def away_singly(self, points: Points) -> Singles:
        """The same to every word, in single precision."""
        return single_distances(self.space, points)
