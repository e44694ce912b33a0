"""Gaussian noise on every coordinate of a vector, by the exact trade-off.

Guarantee
    (ε, δ)-DP for any two documents (or words), whatever they say.

Why it holds
    Every vector is scaled to length C (``bound=normalize``) or cut to it (``bound=clip``), so any
    two are at most Δ = 2C apart in L2. Each coordinate gets independent noise of standard deviation
    σ = Δ·``gaussian_noise(ε, δ)``. Along the line through two vectors their means are at most Δ/σ
    standard deviations apart, and across it nothing differs, so the level is that of one number
    (``accounting/gaussian.py``). The number of dimensions has no part in it.

Care
    The classic σ = Δ·√(2·ln(1.25/δ))/ε is proven for ε <= 1 and false from about 8 on. Published
    code takes Δ = 1 for vectors whose coordinates lie in [0, 1]: there it is √k. δ must be far
    below one in the number of documents. Numbers have 53 bits, so the statement holds for the
    real-valued law that these draws approximate.

Reference
    Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy"; Lyu, He and Li
    2020 (DPNR), whose code offers Gaussian noise for a sensitivity of 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.gaussian import gaussian_noise
from sfumato.accounting.guessing import Level
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.representations.mechanism import (
    ANY_DOCUMENT,
    CLIP,
    NORMALIZE,
    Carrier,
    bring_inside,
    check_bound,
    check_delta,
    check_numbers,
    check_rows,
    say_bound,
    squared_distances,
    state,
)


@dataclass(frozen=True, kw_only=True)
class GaussianVectors:
    """Gaussian noise on vectors of ``size`` numbers.

    ``bound`` scales every vector to ``clip_norm`` (normalize), or cuts longer ones to it (clip).

    >>> gaussian = GaussianVectors(size=3, epsilon=6, delta=1e-6)
    >>> noisy = gaussian.release(np.eye(3), Randomness.reproducible(1))
    >>> noisy.shape, round(gaussian.sigma, 3)
    ((3, 3), 1.672)
    """

    size: int
    epsilon: float
    delta: float = 0.0
    bound: str = NORMALIZE
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        level, length = check_numbers(self.size, self.epsilon, self.clip_norm)
        object.__setattr__(self, "epsilon", level)
        object.__setattr__(self, "clip_norm", length)
        check_bound(self.bound, (NORMALIZE, CLIP))
        if not check_delta(self.delta):
            raise InvalidArgument(
                "Gaussian noise proves nothing without a delta: give `delta=1e-6`, or take laplace"
            )

    @property
    def outputs(self) -> int:
        """As many numbers as go in."""
        return self.size

    @property
    def sensitivity(self) -> float:
        """Twice the length of a vector."""
        return 2 * self.clip_norm

    @cached_property
    def sigma(self) -> float:
        """The standard deviation of every coordinate."""
        return self.sensitivity * gaussian_noise(self.epsilon, self.delta)

    @property
    def level(self) -> Level:
        """For any two rows, with the whole trade-off."""
        return Level(self.epsilon, self.delta, self.sensitivity / self.sigma)

    def guarantee(self, carrier: Carrier = ANY_DOCUMENT) -> Guarantee:
        """Approximate DP."""
        how = f"{say_bound(self.bound, self.clip_norm)}, with Gaussian noise on {self.size} numbers"
        return state(carrier, how, epsilon=self.epsilon, delta=self.delta)

    def prepare(self, rows: Floats) -> Floats:
        """Each row at its length."""
        return bring_inside(check_rows(rows, self.size), self.bound, self.clip_norm)

    def apart(self, first: Floats, second: Floats) -> Floats:
        """Euclidean."""
        found: Floats = np.linalg.norm(first - second, axis=1)
        return found

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        """One independent draw for each row; all that follows is post-processing."""
        found: Floats = self.prepare(rows) + self.sigma * randomness.normal(len(rows), self.size)
        return found

    def log_likelihoods(self, released: Floats, prepared: Floats) -> Floats:
        """−‖y − x‖²/(2σ²)."""
        found: Floats = -squared_distances(released, prepared) / (2 * self.sigma**2)
        return found

    def facts(self) -> dict[str, Any]:
        """The noise on a coordinate and how long it is on average, about."""
        return {
            "sensitivity": self.sensitivity,
            "sigma": self.sigma,
            "mean_noise_length": self.sigma * float(np.sqrt(self.size)),
        }
