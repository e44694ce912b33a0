"""The law of one vector: clipped to a public set, with noise for the width of that set.

Guarantee
    For any two vectors of k numbers, whatever they are, what is released satisfies pure ε-DP
    (``gamma``) or (ε, δ)-DP (``gaussian``).

Why it holds
    A vector is clipped to the ball ‖z‖₂ <= C or to the box |z_i| <= c, whichever has the smaller
    diameter Δ: 2C, or 2c·√k. (A box of [−c, c] is 2c wide, not c.) So two clipped vectors are at
    most Δ apart.

    - *gamma.* The noise has density ∝ exp(−ε·‖z‖/Δ): a uniform direction, and a length from
      Gamma(k, Δ/ε). By the triangle inequality the density at any place changes by a factor of at
      most exp(ε·‖x − x'‖/Δ) <= e^ε.
    - *gaussian.* Independent noise of standard deviation σ = Δ·``gaussian_noise(ε, δ)`` on every
      coordinate: along the line through two clipped vectors their means are at most Δ/σ standard
      deviations apart, and across it nothing differs (``accounting/gaussian.py``).

    Vectors are clipped a hair inside the set, so that rounding does not leave it. A vector that is
    not finite counts as 0 (``mechanisms/vector_sets.py``).

    Of the two noises the one with the smaller mean square is taken where δ > 0 allows for both: at
    large levels and in few dimensions that is ``gamma``, k(k + 1)·(Δ/ε)² against k·σ², and its
    guarantee is the stronger one besides. All of that is decided by public numbers. (Independent
    Laplace noise on the coordinates of a box, for Δ₁ = 2ck, is √2 times as large as ``gamma``.)

Care
    Numbers have 53 bits, so the statement holds for the real-valued law that these draws
    approximate. The classic σ = Δ·√(2·ln(1.25/δ))/ε is no guarantee at the levels of rewriting: at
    a claimed ε of 100 it is 300 in truth (δ = 1e-5).

Reference
    Balle and Wang 2018 for the Gaussian noise; Habernal 2021, "When differential privacy meets NLP:
    the devil is in the detail", for the error in ADePT's clipping.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sfumato.accounting.gaussian import gaussian_noise, log_between
from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.mechanisms.laplace import laplace_noise
from sfumato.mechanisms.rows import FromRows, log_normalized
from sfumato.mechanisms.vector_sets import clip_rows, clip_to_box
from sfumato.vectors.space import Space

GAMMA, GAUSSIAN = "gamma", "gaussian"
KINDS = (GAMMA, GAUSSIAN)
BALL, BOX = "ball", "box"
# Bins of the line through two ends of the set, and how far out they go, in mean lengths of noise.
_BINS, _FAR = 81, 40.0
# Places of the bins' Gauss–Legendre rule, and of the integral across the line.
_NODES, _ACROSS = 12, 300


@dataclass(frozen=True, kw_only=True)
class LatentLaw:
    """What becomes of a vector of ``size`` numbers; ``scale`` is Δ/ε, or σ.

    ``reach`` is C of a ball or c of a box.
    """

    size: int
    shape: str
    reach: float
    kind: str
    scale: float
    epsilon: float
    delta: float = 0.0

    @classmethod
    def of(
        cls,
        *,
        size: int,
        clip_norm: float,
        clip_width: float,
        epsilon: float,
        delta: float = 0.0,
        kind: str = "",
    ) -> LatentLaw:
        """The law at a level: the smaller set, and the smaller noise unless a ``kind`` is named."""
        at_least("size", size, 1)
        ball = 2 * positive("clip_norm", clip_norm)
        box = 2 * positive("clip_width", clip_width) * math.sqrt(size)
        shape, reach = (BALL, clip_norm) if ball <= box else (BOX, clip_width)
        diameter = min(ball, box)
        rate = diameter / positive("epsilon", epsilon)
        if kind:
            one_of("noise", kind, KINDS)
        if kind == GAUSSIAN and not delta:
            raise InvalidArgument(
                "Gaussian noise proves nothing without a delta: give `delta=1e-6`"
            )
        sigma = diameter * gaussian_noise(epsilon, delta) if delta else math.inf
        smaller = GAMMA if (size + 1) * rate**2 <= sigma**2 else GAUSSIAN
        taken = kind or smaller
        pure = taken == GAMMA
        return cls(
            size=size, shape=shape, reach=float(reach), kind=taken,
            scale=rate if pure else sigma, epsilon=float(epsilon), delta=0.0 if pure else delta,
        )  # fmt: skip

    @property
    def diameter(self) -> float:
        """Δ: how far apart two clipped vectors can be."""
        return 2 * self.reach * (1.0 if self.shape == BALL else math.sqrt(self.size))

    def clip(self, vector: Floats) -> Floats:
        """The vector, moved into the set if it lies outside."""
        move = clip_to_box if self.shape == BOX else clip_rows
        moved: Floats = move(vector[None, :], self.reach)[0]
        return moved

    def noise(self, count: int, randomness: Randomness) -> Floats:
        """Independent draws of the noise, one per row."""
        if self.kind == GAMMA:
            return laplace_noise(self.size, 1 / self.scale, count, randomness)
        found: Floats = randomness.normal(count, self.size) * self.scale
        return found

    def release(self, vector: Floats, randomness: Randomness) -> Floats:
        """One draw for one vector; everything after it is post-processing."""
        found: Floats = self.clip(vector) + self.noise(1, randomness)[0]
        return found

    def guarantee(self, scope: str) -> Guarantee:
        """What is proven about one document."""
        return Guarantee(
            notion=Notion.APPROXIMATE_DP if self.delta else Notion.PURE_DP,
            unit="document",
            neighbors="any two documents",
            epsilon=self.epsilon,
            delta=self.delta,
            scope=scope,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class OnDiameter(FromRows):
    """The law as a mechanism on points, so that its claim can be tested.

    Inputs lie on the longest line through the set, some of them beyond its ends, from where they
    are clipped; the output is the bin on that line into which the noisy vector falls. That is
    post-processing, and Gaussian noise has nothing more to tell. Of ``gamma`` noise it tells all
    of the level only far out, so bins reach there.
    """

    law: LatentLaw

    @cached_property
    def _direction(self) -> Floats:
        size = self.law.size
        return np.full(size, 1 / math.sqrt(size))

    @cached_property
    def _middles(self) -> Floats:
        half = _BINS // 2
        # Near the ends of the set evenly; then farther and farther out, to both sides.
        near = np.linspace(0.0, 1.0, half // 2 + 1) * self.law.diameter * 0.75
        spread = self.law.scale * (self.law.size if self.law.kind == GAMMA else 1.0)
        far = near[-1] + np.geomspace(0.05, _FAR, half - half // 2) * spread
        right = np.concatenate([near[1:], far])
        return np.concatenate([-right[::-1], [0.0], right])

    @cached_property
    def _inner(self) -> Floats:
        """Where one bin ends and the next begins."""
        found: Floats = (self._middles[1:] + self._middles[:-1]) / 2
        return found

    @cached_property
    def space(self) -> Space:  # type: ignore[override]
        """Places on the line, each the middle of a bin."""
        names = [f"{number}: {place:.6g}" for number, place in enumerate(self._middles.tolist())]
        places = self._middles.astype(np.float32)[:, None]
        return Space(f"a diameter of the {self.law.shape} of vectors", names, places)

    def guarantee(self) -> Guarantee:
        """The claim for any two vectors."""
        return self.law.guarantee("the vector of every document")

    def log_rows(self, points: Points) -> Floats:
        """Log-probability of every bin, one row per point."""
        centers = np.array([float(self._clipped(one) @ self._direction) for one in points.tolist()])
        # Beyond an end of the set all points are clipped to it.
        known, which = np.unique(centers, return_inverse=True)
        row = self._gaussian_row if self.law.kind == GAUSSIAN else self._gamma_row
        return log_normalized(np.stack([row(one) for one in known.tolist()]))[which]

    def privatize(self, points: Points, randomness: Randomness) -> Points:
        """One independent draw for each point, by the noise that documents get."""
        clipped = np.stack([self._clipped(point) for point in range(len(self.space) + 1)])
        noisy = clipped[points] + self.law.noise(len(points), randomness)
        found: Points = np.searchsorted(self._inner, noisy @ self._direction).astype(np.intp)
        return found

    def _clipped(self, point: int) -> Floats:
        place = self._middles[point] if point < len(self._middles) else 0.0
        return self.law.clip(place * self._direction)

    def _gaussian_row(self, center: float) -> Floats:
        """Logarithms of what each bin holds; the outermost are open."""
        edges = (np.concatenate([[-np.inf], self._inner, [np.inf]]) - center) / self.law.scale
        return np.array([log_between(*pair) for pair in pairwise(edges.tolist())])

    def _gamma_row(self, center: float) -> Floats:
        """Logarithms of what each bin holds, up to what all have in common.

        Beyond the outermost middles there is next to nothing; that much is left out.
        """
        edges = np.concatenate([self._middles[:1], self._inner, self._middles[-1:]])
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        low, high = edges[:-1, None], edges[1:, None]
        places = low + (high - low) * (nodes + 1) / 2
        logs = log_marginal((places - center) / self.law.scale, self.law.size)
        found: Floats = np.logaddexp.reduce(logs + np.log(weights * (high - low) / 2), axis=1)
        return found


def log_marginal(places: Floats, size: int) -> Floats:
    """Logarithm of ∫ exp(−√(t² + r²))·r^(k−2) dr: one coordinate of k-dimensional noise.

    The integrand in x = ln r is analytic and dies out on both sides, so equal steps in x are right
    to the last digits.
    """
    if size == 1:
        return -np.abs(places)
    # Around the largest value for each t. To the left the integrand falls like e^((k−1)·x) at
    # least, to the right faster; at both ends of the grid it is below 1e-16 of the largest.
    away = np.abs(places)[..., None]
    power = size - 1
    top = np.log(np.sqrt(power * (power + np.sqrt(power**2 + 4 * away**2)) / 2))
    wide = 12.0 / math.sqrt(power)
    offsets, step = np.linspace(-wide - 40.0 / power, wide, _ACROSS, retstep=True)
    grid = top + offsets
    logs = power * grid - np.hypot(away, np.exp(grid))
    found: Floats = np.logaddexp.reduce(logs, axis=-1) + math.log(step)
    return found
