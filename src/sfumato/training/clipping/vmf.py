"""Sums of draws from von Mises–Fisher distributions, with one Gaussian vector for all of them.

Draw i is a point of the unit sphere in d dimensions with density proportional to exp(κ_i⟨μ_i, x⟩);
with κ_i = 0 it is uniform. The sum of L independent draws is wanted, for directions μ_i of which
only the inner products are known, and nothing of size L × d is ever formed.

Why the law is right
    Let M be the span of the directions, m its dimension and n = d − m. A draw is y_i = w_i·μ_i +
    √(1−w_i²)·v_i, with the cosine w_i from its own distribution (Wood 1994) and v_i uniform on the
    unit vectors orthogonal to μ_i: v_i = (g_i − ⟨μ_i, g_i⟩μ_i)/R_i for a Gaussian g_i, R_i the norm
    of the numerator. Inside M this needs the coordinates ζ_i ~ N(0, I_m) of g_i alone; outside,
    g_i has the length c_i, c_i² ~ χ²_n, and a uniform direction. With p_i = ζ_i − ⟨ν_i, ζ_i⟩ν_i,
    ν_i being μ_i in coordinates of M, R_i² = ‖p_i‖² + c_i².

    So the sum is Σ w_i·μ_i + Σ √(1−w_i²)·p_i/R_i inside M. Outside it is a walk in n dimensions
    with steps of the lengths b_i = √(1−w_i²)·c_i/R_i in independent uniform directions. Its end has
    a uniform direction, independent of the distance Q that was reached, and Q² grows by 2b_i·Q·t_i
    + b_i² with t_i a coordinate of a uniform unit vector in n dimensions.

    One vector z ~ N(0, I_d) gives that direction: with u its coordinates in M, which follow from
    the inner products ⟨μ_i, z⟩, the sum outside M is β(z − u), β = Q/√(‖z‖² − ‖u‖²). All in all it
    is Σ c_i·μ_i + β·z with coefficients c_i that are computed here.

Care
    Coordinates of M come from eigenvectors of the matrix of inner products. Where directions are so
    close to dependent that an eigenvalue is below ``SMALLEST``, its eigenvector is left to z: the
    mean of every draw stays exact, and v_i is then not quite orthogonal to μ_i. This changes the
    variance along μ_i by a share of about SMALLEST as long as κ is at most of the order of d, for
    which the divergence between the two laws is below SMALLEST²/4, that is 3e-11. For κ far above
    d, where levels mean nothing any more, the share is about 2·SMALLEST·κ/d.

Reference
    Wood 1994, "Simulation of the von Mises Fisher distribution".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness

SMALLEST = 1e-5
_MOST_TERMS = 100_000


def mean_cosine(dimension: int, kappa: float) -> float:
    """The mean of ⟨μ, x⟩: I_{d/2}(κ)/I_{d/2−1}(κ), as a continued fraction.

    >>> round(mean_cosine(3, 2.0), 12) == round(1 / math.tanh(2.0) - 1 / 2.0, 12)
    True
    """
    if kappa == 0.0:
        return 0.0
    # A_d = 1/(d/κ + A_{d+2}), from a dimension so large that an estimate of A there is enough.
    terms = min(_MOST_TERMS, 40 + int(2 * kappa))
    last = dimension / 2 + terms
    value = kappa / (last + math.hypot(last, kappa))
    for term in range(terms - 1, -1, -1):
        value = 1 / ((dimension + 2 * term) / kappa + value)
    return value


def draw_cosines(dimension: int, kappas: Floats, randomness: Randomness) -> Floats:
    """⟨μ_i, y_i⟩ of a draw for each concentration, by Wood's rejection."""
    found = np.empty(len(kappas))
    waiting = np.arange(len(kappas))
    rest = dimension - 1.0
    while len(waiting):
        kappa = kappas[waiting]
        # rest/(√(4κ²+rest²) + 2κ): the textbook's difference would cancel for small κ.
        b = rest / (np.sqrt(4 * kappa**2 + rest**2) + 2 * kappa)
        x = (1 - b) / (1 + b)
        offset = kappa * x + rest * np.log1p(-(x**2))
        ones, others = (randomness.gamma(rest / 2, 1.0, len(waiting)) for _ in range(2))
        share = ones / (ones + others)
        cosine = (1 - (1 + b) * share) / (1 - (1 - b) * share)
        score = kappa * cosine + rest * np.log1p(-x * cosine) - offset
        taken = score >= np.log1p(-randomness.uniform(len(waiting)))
        found[waiting[taken]] = cosine[taken]
        waiting = waiting[~taken]
    return found


@dataclass(frozen=True, eq=False)
class DirectionSum:
    """A sum of draws, except for its direction outside of the span of the directions.

    ``means`` are the w_i, ``inside`` is Σ √(1−w_i²)·p_i/R_i in coordinates of the span, ``outside``
    is Q, and ``basis`` turns coordinates into coefficients of the directions, and back.
    """

    means: Floats
    inside: Floats
    outside: float
    basis: Floats

    @classmethod
    def drawn(
        cls, dimension: int, gram: Floats, kappas: Floats, randomness: Randomness
    ) -> DirectionSum:
        """Draw, given the inner products of the directions.

        A direction that does not exist has zeros in its row and column, and the concentration 0.
        """
        coordinates, basis = _coordinates(gram)
        rank = coordinates.shape[1]
        free = dimension - rank
        # A draw without a direction is a Gaussian vector at length 1, all of it "across".
        exist = gram.diagonal() > 0
        means = np.where(exist, draw_cosines(dimension, kappas, randomness), 0.0)
        drawn = randomness.normal(len(kappas), rank)
        across = _orthogonal(drawn, coordinates)
        left = np.zeros(len(kappas))
        if free:
            left = 2 * randomness.gamma(free / 2, 1.0, len(kappas))
        widths = np.sqrt(np.clip(1 - means**2, 0.0, None)) / _lengths(across, left)
        steps = widths * np.sqrt(left)
        return cls(
            means,
            (widths[:, None] * across).sum(0),
            _walk(free, steps, randomness),
            basis,
        )

    def coefficients(self, products: Floats, square: float) -> tuple[Floats, float]:
        """c_i and β, given ⟨μ_i, z⟩ and ‖z‖² of a Gaussian vector z."""
        seen = products @ self.basis
        beyond = square - float(seen @ seen)
        scale = self.outside / math.sqrt(beyond) if self.outside else 0.0
        return self.means + self.basis @ (self.inside - scale * seen), scale


def _coordinates(gram: Floats) -> tuple[Floats, Floats]:
    """The directions in an orthonormal basis of their span, and the basis in terms of them."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > SMALLEST
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots


def _orthogonal(drawn: Floats, coordinates: Floats) -> Floats:
    """p_i: what was drawn, without its part along the direction."""
    # A direction of which a small part was left out is a little shorter here than 1.
    squares = (coordinates**2).sum(1, keepdims=True)
    along = (coordinates * drawn).sum(1, keepdims=True) / np.where(squares > 0, squares, 1.0)
    across: Floats = drawn - along * coordinates
    return across


def _lengths(across: Floats, left: Floats) -> Floats:
    """R_i: the length of a Gaussian vector orthogonal to the direction."""
    lengths: Floats = np.sqrt((across**2).sum(1) + left)
    return lengths


def _walk(dimension: int, steps: Floats, randomness: Randomness) -> float:
    """How far from its beginning a walk ends whose steps have these lengths and any direction."""
    if dimension == 0:
        return 0.0
    along = randomness.normal(1, len(steps))[0]
    if dimension > 1:
        others = 2 * randomness.gamma((dimension - 1) / 2, 1.0, len(steps))
        along = along / np.sqrt(along**2 + others)
    else:
        along = np.sign(along)
    square = 0.0
    for step, cosine in zip(steps.tolist(), along.tolist(), strict=True):
        square = max(0.0, square + 2 * step * math.sqrt(square) * cosine + step * step)
    return math.sqrt(square)
