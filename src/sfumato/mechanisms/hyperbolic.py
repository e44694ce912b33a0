"""Words in the Poincaré ball, where hierarchies have room: noise there, or exact rows.

Guarantee
    Metric DP at level ``epsilon`` in the hyperbolic distance d_H between words in the ball
    (curvature −1): for all words x, x' and y, P[M(x) = y] <= exp(epsilon * d_H(x, x')) *
    P[M(x') = y]. In the Euclidean distance of ``space`` the level is epsilon·sinh(s·R)/R, with the
    scale s and the largest distance R of a word from the centroid. Words outside the vocabulary
    share one point, the middle of the ball, so the statement covers them too.

Why it holds
    Form "noise", for epsilon > n − 1 in n dimensions: the noisy point q has density proportional
    to exp(−epsilon·d_H(x, q)) with respect to hyperbolic volume. Moving x is an isometry and keeps
    volumes, so the factor in front is the same for all x, and by the triangle inequality the
    density changes by at most exp(epsilon·d_H(x, x')). The nearest word is a function of q and of
    public points, hence post-processing. A ball of radius r has a volume that grows like
    exp((n − 1)·r), so at epsilon <= n − 1 there is no such density.
    Form "rows", for every level: P[y | x] is proportional to exp(−epsilon/2 · d_H(x, y)) over the
    vocabulary; numerator and denominator change by at most exp(epsilon/2 · d_H(x, x')) each.
    Form "auto" takes noise where it exists and rows otherwise; the guarantee says which it was.

How noise is drawn
    The length r has density proportional to exp(−epsilon·r)·sinh(r)^(n−1). With t = exp(−2r) that
    is Beta((epsilon − n + 1)/2, n), t = g/(g + h) for two Gamma numbers, and tanh r = h/(2g + h).
    The direction is uniform, and x moves along it by Möbius addition.

Care
    Density proportional to exp(−epsilon·d_H) with respect to ordinary (Lebesgue) volume of the ball
    is another law and does not have this level. The map into the ball and its scale are public;
    with the default scale a typical word is at distance 2 from the middle. d_H is at least s times
    the Euclidean distance and grows exponentially towards the rim: the same epsilon is not the same
    protection as in other mechanisms. In 50 dimensions noise needs epsilon > 49.

Reference
    Feyisetan, Diethe and Drake 2019, "Leveraging hierarchical representations for preserving
    privacy and utility in text".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.checks import one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.guarantees.wording import exact
from sfumato.mechanisms.draws import in_blocks
from sfumato.mechanisms.mahalanobis import rounded_up
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.noise import draw_by_noise
from sfumato.mechanisms.rows import EVERY_WORD, ByDistance
from sfumato.vectors.poincare import Ball
from sfumato.vectors.space import Space

FORMS = ("auto", "noise", "rows")
_SAID = {"noise": "drawn by noise in the ball", "rows": "drawn from exact rows"}


@dataclass(frozen=True, kw_only=True)
class Hyperbolic:
    """Move a word in the ball and take the word that is nearest then.

    Where noise does not exist, or rows are asked for, this makes a ``HyperbolicRows``.

    >>> from sfumato.vectors.load import default_space
    >>> hyperbolic = Hyperbolic(space=default_space(), epsilon=60)
    >>> points = hyperbolic.space.points(["london"] * 5)
    >>> replaced = hyperbolic.privatize(points, Randomness.reproducible(7))
    >>> len(replaced), hyperbolic.guarantee().epsilon, hyperbolic.form
    (5, 60.0, 'noise')
    >>> Hyperbolic(space=default_space(), epsilon=8).form
    'rows'
    """

    space: Space
    epsilon: float
    form: str = "auto"
    scale: float | None = None

    def __new__(
        cls,
        *,
        space: Space | None = None,
        epsilon: float | None = None,
        form: str = "auto",
        scale: float | None = None,
    ) -> Hyperbolic:
        """A mechanism with rows is a class of its own, so that rows are there or are not."""
        del scale
        # A copy is made without arguments, of the class that was chosen for the original.
        if cls is not Hyperbolic or space is None or _form(form, space, epsilon) == "noise":
            return object.__new__(cls)
        return object.__new__(HyperbolicRows)

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", _form(self.form, self.space, self.epsilon))
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        if self.scale is not None:
            object.__setattr__(self, "scale", positive("scale", self.scale))
            Ball.of(self.space, self.scale)

    def guarantee(self) -> Guarantee:
        """Metric DP in the distance of the ball, with what that means in the Euclidean one."""
        return metric_dp(
            epsilon=self.epsilon,
            metric=(
                f"hyperbolic distance between words of {self.space.name} in the Poincaré ball at "
                f"scale {exact(self.ball.scale)}, {_SAID[self.form]}, at most "
                f"{rounded_up(self.ball.stretch)} times the Euclidean distance, so the level in "
                "that one is larger by this factor"
            ),
            about=(self.space, self.ball.scale),
        )

    def loss_bounds(self, point: int) -> NDArray[np.float64]:
        """Epsilon times the hyperbolic distance to every point."""
        return self.epsilon * self.ball.distances_from(point)

    @cached_property
    def ball(self) -> Ball:
        """Where every point stands; public."""
        return self.space.derive(("ball", self.scale), lambda: Ball.of(self.space, self.scale))

    @property
    def euclidean_epsilon(self) -> float:
        """The level in the Euclidean distance of the space."""
        return self.epsilon * self.ball.stretch

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return in_blocks(points, lambda block: draw_by_noise(self, block, randomness))

    def places(self, points: Points) -> Floats:
        """Where points stand in the Klein model."""
        placed: Floats = np.tanh(self.ball.radii[points])[:, None] * self.ball.directions(points)
        return placed

    def moved(self, points: Points, randomness: Randomness) -> Floats:
        """Where points stand in the Klein model after noise."""
        directions = randomness.normal(len(points), self.space.dimension)
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        lengths = tanh_of_length(self.space.dimension, self.epsilon, len(points), randomness)
        return self.ball.moved(points, directions, lengths)

    def words_at(self, places: Floats, randomness: Randomness) -> Points:  # noqa: ARG002
        """The word nearest to each noisy place, in the distance of the ball."""
        return self.ball.nearest(places)

    def distances_from(self, places: Floats, first: int | None = None) -> Singles:
        """Hyperbolic distance to every word, or to the first words."""
        return self.ball.distances_from_places(places, first)


@dataclass(frozen=True, kw_only=True)
class HyperbolicRows(Hyperbolic, ByDistance):
    """Draw a word with a probability that falls off with its hyperbolic distance."""

    def __post_init__(self) -> None:
        if self.form == "noise":
            raise InvalidArgument("form='noise' has no rows; Hyperbolic(…) takes it")
        object.__setattr__(self, "form", "rows")
        super().__post_init__()

    def away(self, points: NDArray[np.intp], words: slice = EVERY_WORD) -> NDArray[np.float64]:
        """Hyperbolic distance from each point to each of the words."""
        return self.ball.distances(points, words)

    def away_singly(self, points: Points) -> Singles:
        """The same to every word, in single precision."""
        found = self.ball.distances_from_places(self.places(points))
        known = np.flatnonzero(points < self.space.unknown)
        found[known, points[known]] = 0
        return found

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return ByDistance.privatize(self, points, randomness)


def tanh_of_length(
    dimension: int, epsilon: float, count: int, randomness: Randomness
) -> NDArray[np.float64]:
    """tanh(r) for lengths r with density proportional to exp(−epsilon·r)·sinh(r)^(dimension−1)."""
    inner = randomness.gamma((epsilon - dimension + 1) / 2, 1.0, count)
    outer = randomness.gamma(dimension, 1.0, count)
    # A length beyond the numbers of a computer has tanh r = 1: the rim, in the limit.
    lengths: NDArray[np.float64] = outer / (inner + inner + outer)
    return lengths


def _form(form: str, space: Space, epsilon: object) -> str:
    """The form in use, or why there is none."""
    one_of("form", form, FORMS)
    least = space.dimension - 1
    possible = positive("epsilon", epsilon) > least
    if form == "noise" and not possible:
        raise InvalidArgument(
            f"epsilon={epsilon:g} must be greater than {least} for form='noise' in "
            f"{space.dimension} dimensions, where hyperbolic volume outgrows slower noise; "
            "form='rows' takes every level, form='auto' chooses"
        )
    if form == "auto":
        return "noise" if possible else "rows"
    return form
