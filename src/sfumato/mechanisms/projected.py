"""A public random projection to few dimensions, Laplace noise there, then the nearest word there.

Guarantee
    Metric DP at level ``epsilon`` in the distance d_Φ(x, x') = |Φ(φ(x) − φ(x'))|: for all words
    x, x' and y, P[M(x) = y] <= exp(epsilon * d_Φ(x, x')) * P[M(x') = y]. In the Euclidean distance
    of ``space`` the level is epsilon·‖Φ‖₂, the spectral norm. Pure, without a δ. Words outside the
    vocabulary share one point, so the statement covers them too.

Why it holds
    The projected vector of a word is a public function of it, and Laplace noise in m dimensions
    gives metric DP in the distance between projected vectors. The nearest word is sought among
    projected public vectors, hence post-processing. d_Φ(x, x') <= ‖Φ‖₂·|φ(x) − φ(x')| for all
    points, the unknown one included; the largest ratio found in a sample of pairs is no bound.

Care
    Noise has length m/epsilon in place of d/epsilon, but words that the projection brings together
    are confused whatever the level. Φ has orthogonal rows of length √(d/m), which keeps distances
    on average, so ‖Φ‖₂ = √(d/m); with m = d it turns the space and the mechanism is Laplace.
    ``projection_seed`` is public by design, like the vectors: it decides which projection is used
    and nothing else. The noise never comes from it.

Reference
    Feyisetan and Kasiviswanathan 2021, "Private release of text embedding vectors".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.checks import at_least, between
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.draws import in_blocks
from sfumato.mechanisms.laplace import Laplace, laplace_noise
from sfumato.mechanisms.mahalanobis import rounded_up
from sfumato.mechanisms.noise import draw_by_noise
from sfumato.vectors.search import NearestSearch
from sfumato.vectors.space import Space


@dataclass(frozen=True, kw_only=True)
class Projected:
    """Move a word's projected vector by Laplace noise and take the word that is nearest then.

    ``dimensions`` is what the projection leaves, by default half of what the space has.

    >>> from sfumato.vectors.load import default_space
    >>> projected = Projected(space=default_space(), epsilon=8, dimensions=20)
    >>> points = projected.space.points(["london"] * 5)
    >>> replaced = projected.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), projected.guarantee().epsilon
    (5, 8.0)
    >>> round(projected.stretch, 2)
    1.58
    """

    space: Space
    epsilon: float
    dimensions: int | None = None
    projection_seed: int = 0

    def __post_init__(self) -> None:
        # The lengths are those of Laplace noise, and so are the levels that numbers can hold.
        checked = Laplace(space=self.space, epsilon=self.epsilon)
        object.__setattr__(self, "epsilon", checked.epsilon)
        if self.dimensions is not None:
            at_least("dimensions", self.dimensions, 1)
            between("dimensions", self.dimensions, 1, self.space.dimension)
        at_least("projection_seed", self.projection_seed, 0, most=None)

    def guarantee(self) -> Guarantee:
        """Metric DP in the projected distance, with what that means in the Euclidean one."""
        rows = len(self.projection)
        return metric_dp(
            epsilon=self.epsilon,
            metric=(
                f"Euclidean distance between word vectors in {self.space.name} after projection "
                f"{self.projection_seed} to {rows} dimensions, at most {rounded_up(self.stretch)} "
                "times the one before it, so the level in that one is larger by this factor"
            ),
            about=(self.space, rows, self.projection_seed),
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon times the projected distance to every point."""
        places = self.space.at(np.arange(len(self.space) + 1)) @ self.projection.T
        bounds: NDArray[np.float64] = self.epsilon * np.linalg.norm(places - places[point], axis=1)
        return bounds

    @cached_property
    def projection(self) -> NDArray[np.float64]:
        """Φ, one row per dimension that is left; public."""
        rows = self.dimensions or max(1, self.space.dimension // 2)
        return random_projection(rows, self.space.dimension, self.projection_seed)

    @cached_property
    def stretch(self) -> float:
        """‖Φ‖₂: no two points come apart by more than this factor."""
        return float(np.linalg.norm(self.projection, ord=2))

    @property
    def euclidean_epsilon(self) -> float:
        """The level in the Euclidean distance of the whole space."""
        return self.epsilon * self.stretch

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return in_blocks(points, lambda block: draw_by_noise(self, block, randomness))

    def places(self, points: Points) -> Floats:
        """The projected vectors of points."""
        projected: Floats = self.space.at(points) @ self.projection.T
        return projected

    def moved(self, points: Points, randomness: Randomness) -> Floats:
        """The projected vectors of points with noise."""
        noisy = self.places(points)
        noisy += laplace_noise(len(self.projection), self.epsilon, len(noisy), randomness)
        return noisy

    def words_at(self, places: Floats, randomness: Randomness) -> Points:  # noqa: ARG002
        """The word whose projected vector is nearest to each noisy one."""
        return self._search.nearest(places)

    def distances_from(self, places: Floats, first: int | None = None) -> Singles:
        """Projected distance to every word, or to the first words."""
        return self._search.distances(places, first)

    @cached_property
    def _search(self) -> NearestSearch:
        def build() -> NearestSearch:
            return NearestSearch(self.space.vectors @ self.projection.T.astype(np.float32))

        key = ("projected", len(self.projection), self.projection_seed)
        return self.space.derive(key, build)


def random_projection(rows: int, columns: int, seed: int) -> NDArray[np.float64]:
    """Orthogonal rows of length √(columns/rows) along a uniformly random subspace."""
    # A statistical generator will do, for the projection is public; and being another kind of
    # generator than the one of the noise, it shares no number with that under any seed.
    normals = np.random.default_rng(seed).standard_normal((columns, rows))
    axes, triangle = np.linalg.qr(normals)
    axes *= np.where(np.diag(triangle) < 0, -1.0, 1.0)  # without this the law is not uniform
    axes *= math.sqrt(columns / rows)
    return axes.T
