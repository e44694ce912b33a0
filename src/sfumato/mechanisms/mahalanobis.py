"""Laplace noise shaped like the cloud of word vectors, then the nearest word.

Guarantee
    Metric DP at level ``epsilon`` in the norm |x|_A = √(xᵀA⁻¹x): for all words x, x' and y,
    P[M(x) = y] <= exp(epsilon * |φ(x) − φ(x')|_A) * P[M(x') = y], where A = λΣ + (1−λ)I and Σ is
    the covariance of the public vectors, scaled to a mean diagonal of 1. In the Euclidean
    distance the level is epsilon·λ_min(A)^(−1/2). Words outside the vocabulary share one point,
    so the statement covers them too.

Why it holds
    z = r·A^(1/2)·u with u uniform on the sphere and r ~ Gamma(d, 1/epsilon) has density
    proportional to exp(−epsilon·|z|_A). By the triangle inequality of |·|_A the density of
    φ(x) + z changes by at most exp(epsilon·|φ(x) − φ(x')|_A). The nearest word is a function of
    that noisy vector and of public vectors, hence post-processing. |x|_A <= λ_min(A)^(−1/2)·|x|.

Care
    z is not scaled back to length r: noise of that kind has another density and not this level.
    Where the cloud is thin the noise is small, so the Euclidean level is above epsilon; both are
    stated. Σ comes from the public vectors, never from a text.

Reference
    Xu, Aggarwal, Feyisetan and Teissier 2020, "A differentially private text perturbation method
    using regularized Mahalanobis metric".
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.checks import between
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.draws import BLOCK, in_blocks
from sfumato.mechanisms.laplace import Laplace, laplace_noise
from sfumato.mechanisms.noise import draw_by_noise
from sfumato.vectors.search import NearestSearch
from sfumato.vectors.space import Space

# A has a mean diagonal of 1; thinner than this in some direction, it cannot be inverted.
THINNEST = 1e-9


@dataclass(frozen=True, kw_only=True)
class Mahalanobis:
    """Move a word's vector more where the vocabulary spreads more, and take the nearest word.

    ``lambda_`` (``lambda`` on the command line) goes from 0, round noise, to 1, the shape of the
    vocabulary.

    >>> from sfumato.vectors.load import default_space
    >>> mahalanobis = Mahalanobis(space=default_space(), epsilon=8, lambda_=0.3)
    >>> points = mahalanobis.space.points(["london"] * 5)
    >>> replaced = mahalanobis.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), mahalanobis.guarantee().epsilon
    (5, 8.0)
    >>> round(mahalanobis.stretch, 2)
    1.19
    """

    space: Space
    epsilon: float
    lambda_: float = 0.2

    def __post_init__(self) -> None:
        # The lengths are those of Laplace noise, and so are the levels that numbers can hold.
        checked = Laplace(space=self.space, epsilon=self.epsilon)
        object.__setattr__(self, "epsilon", checked.epsilon)
        object.__setattr__(self, "lambda_", between("lambda", self.lambda_, 0.0, 1.0))

    def guarantee(self) -> Guarantee:
        """Metric DP in the norm of A, with what that means in the Euclidean distance."""
        return metric_dp(
            epsilon=self.epsilon,
            metric=(
                f"Mahalanobis distance between word vectors in {self.space.name} with lambda "
                f"{self.lambda_:g}, at most {rounded_up(self.stretch)} times the Euclidean "
                "distance, so the level in that one is larger by this factor"
            ),
            about=(self.space, self.lambda_),
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon times the distance of A to every point."""
        places = self.space.at(np.arange(len(self.space) + 1))
        # |A^(−1/2)·z| is the norm in which the noise is round.
        round_steps = np.linalg.solve(self._factor[0], (places - places[point]).T)
        bounds: NDArray[np.float64] = self.epsilon * np.linalg.norm(round_steps, axis=0)
        return bounds

    @property
    def stretch(self) -> float:
        """λ_min(A)^(−1/2): the largest ratio of the norm of A to the Euclidean one."""
        return self._factor[1]

    @property
    def euclidean_epsilon(self) -> float:
        """The level in the Euclidean distance."""
        return self.epsilon * self.stretch

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
        """The nearest word to each noisy vector, in the Euclidean distance."""
        return self.space.search.nearest(places)

    def distances_from(self, places: Floats, first: int | None = None) -> Singles:
        """Distance of A to every word, or to the first: Euclidean where the noise is round."""
        rounded: Floats = np.linalg.solve(self._factor[0], places.T).T.astype(np.float64)
        return self._round_space.distances(rounded, first)

    def noise(self, count: int, randomness: Randomness) -> NDArray[np.float64]:
        """Independent draws with density proportional to exp(−epsilon·|z|_A)."""
        round_noise = laplace_noise(self.space.dimension, self.epsilon, count, randomness)
        return round_noise @ self._factor[0]

    @cached_property
    def _round_space(self) -> NearestSearch:
        """The words where the noise is round, at A^(−1/2)·φ(x)."""

        def build() -> NearestSearch:
            inverse = np.linalg.inv(self._factor[0]).astype(np.float32)
            return NearestSearch(self.space.vectors @ inverse)

        return self.space.derive(("round", self.lambda_), build)

    @cached_property
    def _factor(self) -> tuple[NDArray[np.float64], float]:
        return self.space.derive(("shape", self.lambda_), self._make_factor)

    def _make_factor(self) -> tuple[NDArray[np.float64], float]:
        """A^(1/2), symmetric, and λ_min(A)^(−1/2); both from public vectors, once."""
        values, axes = np.linalg.eigh(shape_matrix(self.space, self.lambda_))
        if values[0] < THINNEST:
            raise InvalidArgument(
                f"lambda={self.lambda_:g} leaves no noise in some direction of {self.space.name}, "
                "because its words do not spread there; a smaller lambda does"
            )
        return (axes * np.sqrt(values)) @ axes.T, float(values[0] ** -0.5)


def shape_matrix(space: Space, lambda_: float) -> NDArray[np.float64]:
    """A = λΣ + (1−λ)I, with the covariance Σ of the public vectors at a mean diagonal of 1."""
    identity = np.eye(space.dimension)
    if lambda_ == 0:
        return identity
    covariance = np.zeros_like(identity)
    for start in range(0, len(space), BLOCK):
        spread = space.vectors[start : start + BLOCK] - space.centroid
        covariance += spread.T @ spread
    if not covariance.any():
        raise InvalidArgument(
            f"lambda={lambda_:g} must be 0 for {space.name}: its words all stand at one place"
        )
    covariance *= space.dimension / np.trace(covariance)
    return lambda_ * covariance + (1 - lambda_) * identity


def rounded_up(factor: float) -> str:
    """Six digits, rounded up: a smaller factor would promise too much.

    >>> rounded_up(1.0), rounded_up(1.2345611)
    ('1', '1.23457')
    """
    return str(Context(prec=6, rounding=ROUND_CEILING).create_decimal_from_float(factor))
