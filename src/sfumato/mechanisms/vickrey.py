"""Laplace noise on a word's vector, then one of the two nearest words.

Guarantee
    Metric DP at level ``epsilon`` in the Euclidean distance of ``space``, as for Laplace noise:
    for all words x, x' and y, P[M(x) = y] <= exp(epsilon * |φ(x) − φ(x')|) * P[M(x') = y]. Words
    outside the vocabulary share one point, so the statement covers them too.

Why it holds
    The two words nearest to the *noisy* vector, at distances d1 <= d2 from it, and the chance
    (1−t)·d2 / (t·d1 + (1−t)·d2) with which the first is taken are functions of that vector, of
    public vectors and of fresh randomness, hence post-processing of Laplace noise.

Care
    The original word is never looked at again. Leaving it out of the search, or giving way to the
    second word when the first is the original, is not post-processing: its probability would be
    zero for one input and not for another. Where the rule says 0/0 (both words at the noisy
    vector, or t = 1 and the first there) the first is taken with chance 1 − t.

Reference
    Xu, Feyisetan, Aggarwal, Xu and Teissier 2021, "On a utilitarian approach to privacy
    preserving text generation" (the Vickrey mechanism).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.checks import between
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.draws import in_blocks
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.noise import draw_by_noise
from sfumato.vectors.search import NearestTwo
from sfumato.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class Vickrey:
    """Move a word's vector by Laplace noise and take the nearest word or the second nearest.

    ``t`` goes from 0, always the nearest, to 1, always the second nearest.

    >>> from sfumato.vectors.load import default_space
    >>> vickrey = Vickrey(space=default_space(), epsilon=8, t=0.25)
    >>> points = vickrey.space.points(["london"] * 5)
    >>> replaced = vickrey.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), vickrey.guarantee().epsilon
    (5, 8.0)
    """

    space: Space
    epsilon: float
    t: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", self._laplace.epsilon)
        object.__setattr__(self, "t", between("t", self.t, 0.0, 1.0))

    def guarantee(self) -> Guarantee:
        """That of the noise: what follows is post-processing."""
        return self._laplace.guarantee()

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return in_blocks(points, lambda block: draw_by_noise(self, block, randomness))

    def places(self, points: Points) -> Floats:
        """The vectors of points."""
        return self.space.at(points)

    def moved(self, points: Points, randomness: Randomness) -> Floats:
        """The vectors of points with noise."""
        return self._laplace.moved(points, randomness)

    def words_at(self, places: Floats, randomness: Randomness) -> Points:
        """One of the two nearest words to each noisy vector."""
        words, first = self.choices(places)
        taken = randomness.uniform(len(places)) < first
        return np.where(taken, words[:, 0], words[:, 1])

    def distances_from(self, places: Floats, first: int | None = None) -> Singles:
        """Euclidean distance to every word, or to the first words."""
        return self.space.search.distances(places, first)

    def choices(self, noisy: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The two words to choose from for each noisy vector, and the chance of the first."""
        words, distances = self._search.find(noisy)
        return words, chance_of_first(distances[:, 0], distances[:, 1], self.t)

    @property
    def _laplace(self) -> Laplace:
        return Laplace(space=self.space, epsilon=self.epsilon)

    @cached_property
    def _search(self) -> NearestTwo:
        vectors = self.space.vectors
        return self.space.derive("nearest two", lambda: NearestTwo(vectors))


def chance_of_first(
    nearer: NDArray[np.float64], farther: NDArray[np.float64], t: float
) -> NDArray[np.float64]:
    """(1−t)·d2 / (t·d1 + (1−t)·d2), and 1 − t where that is 0/0.

    >>> chance_of_first(np.array([1.0, 0.0, 0.0]), np.array([3.0, 3.0, 0.0]), 0.5).tolist()
    [0.75, 1.0, 0.5]
    """
    weight = (1 - t) * farther
    total = t * nearer + weight
    chance = np.full(len(weight), 1.0 - t)
    np.divide(weight, total, out=chance, where=total > 0)
    return chance
