"""Multivariate Laplace noise on a word's vector, then the nearest word.

Guarantee
    Metric DP at level ``epsilon`` in the Euclidean distance of ``space``: for all words x, x'
    and y, P[M(x) = y] <= exp(epsilon * |φ(x) − φ(x')|) * P[M(x') = y]. Words outside the
    vocabulary share one point, so the statement covers them too, with distance 0 between them.

Why it holds
    The noise z has density proportional to exp(−epsilon·|z|): direction uniform on the sphere,
    length Gamma(d, 1/epsilon). By the triangle inequality the density of φ(x) + z at any place
    changes by at most the factor exp(epsilon·|φ(x) − φ(x')|) when x becomes x'. The nearest word
    is a function of that noisy vector and of public vectors, hence post-processing.

Care
    E|z| = d/epsilon: epsilon means nothing without the scale of the space. Numbers have 53 bits,
    so the statement holds for the real-valued law that these draws approximate.

Reference
    Feyisetan et al. 2020, "Privacy- and utility-preserving textual analysis via calibrated
    multivariate perturbations"; the MDP of the selective metric DP thesis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.draws import in_blocks
from sfumato.vectors.space import Space

SMALLEST_EPSILON = 1e-12


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Move a word's vector by Laplace noise and take the word that is nearest then.

    >>> from sfumato.vectors.load import default_space
    >>> laplace = Laplace(space=default_space(), epsilon=8)
    >>> points = laplace.space.points(["london"] * 5)
    >>> replaced = laplace.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), laplace.guarantee().epsilon
    (5, 8.0)
    """

    space: Space
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        if self.epsilon < SMALLEST_EPSILON:
            raise InvalidArgument(
                f"epsilon={self.epsilon:g} must be at least {SMALLEST_EPSILON:g}: below that the "
                "noise outgrows the numbers a computer can add; the output is pure noise already"
            )

    def guarantee(self) -> Guarantee:
        """Metric DP in the Euclidean distance."""
        return metric_dp(epsilon=self.epsilon, metric=self.space.metric, about=(self.space,))

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return in_blocks(points, lambda block: self._drawn(block, randomness))

    def _drawn(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        noisy = self.space.at(points)
        noisy += self.noise(len(noisy), randomness)
        # Only the noisy vectors go on from here: the search never learns the originals.
        return self.space.search.nearest(noisy)

    def noise(self, count: int, randomness: Randomness) -> NDArray[np.float64]:
        """Independent draws with density proportional to exp(−epsilon·|z|)."""
        return laplace_noise(self.space.dimension, self.epsilon, count, randomness)


def laplace_noise(
    dimension: int, epsilon: float, count: int, randomness: Randomness
) -> NDArray[np.float64]:
    """Uniform directions times Gamma(dimension, 1/epsilon) lengths."""
    noise = randomness.normal(count, dimension)
    lengths = randomness.gamma(dimension, 1.0 / epsilon, count)
    noise *= (lengths / np.sqrt(np.einsum("nd,nd->n", noise, noise)))[:, None]
    return noise
