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

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.draws import in_blocks
from sfumato.mechanisms.noise import draw_by_noise
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
        return in_blocks(points, lambda block: draw_by_noise(self, block, randomness))

    def places(self, points: Points) -> Floats:
        """The vectors of points."""
        return self.space.at(points)

    def moved(self, points: Points, randomness: Randomness) -> Floats:
        """The vectors of points with noise."""
        noisy = self.places(points)
        noisy += self.noise(len(noisy), randomness)
        return noisy

    def words_at(self, places: Floats, randomness: Randomness) -> Points:  # noqa: ARG002
        """The nearest word to each noisy vector."""
        return self.space.search.nearest(places)

    def distances_from(self, places: Floats, first: int | None = None) -> Singles:
        """Euclidean distance to every word, or to the first words."""
        return self.space.search.distances(places, first)

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


def laplace_coordinates(
    shape: tuple[int, int], scale: float, randomness: Randomness
) -> NDArray[np.float64]:
    """Independent Laplace numbers, one per coordinate: density ∝ exp(−‖z‖₁/scale)."""
    sizes = randomness.gamma(1.0, scale, shape[0] * shape[1])
    signs = np.where(randomness.uniform(len(sizes)) < 0.5, -1.0, 1.0)
    noise: NDArray[np.float64] = (sizes * signs).reshape(shape)
    return noise
