"""Multivariate Laplace noise on a vector: a uniform direction, and a length from a Gamma law.

Guarantee
    Pure ε-DP for any two documents (or words), whatever they say. With ``metric``, metric DP: ε
    times the Euclidean distance between their vectors.

Why it holds
    Every vector is scaled to length C (``bound=normalize``) or cut to it (``bound=clip``), so any
    two are at most Δ = 2C apart: unit vectors differ by 2 at most, which opposite ones do. The
    noise has density ∝ exp(−ε·‖z‖/Δ): direction uniform, length Gamma(k, Δ/ε). By the triangle
    inequality the density at any place changes by a factor of at most exp(ε·‖x − x'‖/Δ) <= e^ε when
    x becomes x'. With ``metric`` the rate is ε itself and the factor exp(ε·‖x − x'‖), for vectors
    as they are after ``bound``; cutting brings no two vectors farther apart, so with ``clip`` it
    holds in the distance of the uncut ones as well. What is done to the noisy vector afterwards
    (scaling it, rounding it, training on it) is post-processing.

Care
    E‖z‖ = k·Δ/ε grows with the number of dimensions: with 384 numbers and ε = 10 the noise is 77
    times as long as the vector. The published mechanisms add the same noise to vectors that nobody
    has bounded: then the level is that of a distance without an upper end, and no ε-DP follows.
    ``bound=none`` is that statement, and takes ``metric``. A noise that is scaled by the length of
    the vector itself is no guarantee at all. Numbers have 53 bits, so the statement holds for the
    real-valued law that these draws approximate.

Reference
    Feyisetan et al. 2020, "Privacy- and utility-preserving textual analysis via calibrated
    multivariate perturbations"; Qu et al. 2021, "Natural language understanding with
    privacy-preserving BERT", for the release of token vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.accounting.guessing import Level
from sfumato.core.arrays import Floats
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.laplace import laplace_noise
from sfumato.representations.mechanism import (
    ANY_DOCUMENT,
    CLIP,
    NONE,
    NORMALIZE,
    Carrier,
    bring_inside,
    check_bound,
    check_numbers,
    check_rows,
    say_bound,
    squared_distances,
    state,
)


@dataclass(frozen=True, kw_only=True)
class LaplaceVectors:
    """Noise of a uniform direction on vectors of ``size`` numbers.

    ``bound`` scales every vector to ``clip_norm`` (normalize), cuts longer ones to it (clip) or,
    with ``metric``, leaves them as they are (none). With ``metric``, ``epsilon`` is for each unit
    of distance between two vectors, and not for any two.

    >>> laplace = LaplaceVectors(size=3, epsilon=6)
    >>> noisy = laplace.release(np.eye(3), Randomness.reproducible(1))
    >>> noisy.shape, laplace.sensitivity, laplace.guarantee().epsilon
    ((3, 3), 2.0, 6.0)
    """

    size: int
    epsilon: float
    bound: str = NORMALIZE
    clip_norm: float = 1.0
    metric: bool = False

    def __post_init__(self) -> None:
        level, length = check_numbers(self.size, self.epsilon, self.clip_norm)
        object.__setattr__(self, "epsilon", level)
        object.__setattr__(self, "clip_norm", length)
        check_bound(self.bound, (NORMALIZE, CLIP, NONE))
        if self.bound == NONE and not self.metric:
            raise InvalidArgument(
                "without a bound two vectors can be any distance apart, and no noise covers that: "
                "take `settings={'bound': 'clip'}`, or state the level by distance, "
                "`settings={'bound': 'none', 'metric': True}`"
            )

    @property
    def outputs(self) -> int:
        """As many numbers as go in."""
        return self.size

    @property
    def sensitivity(self) -> float:
        """Twice the length of a vector; no end without a bound."""
        return float("inf") if self.bound == NONE else 2 * self.clip_norm

    @property
    def rate(self) -> float:
        """The density of the noise is ∝ exp(−rate·‖z‖)."""
        return self.epsilon if self.metric else self.epsilon / self.sensitivity

    @property
    def level(self) -> Level | None:
        """For any two rows; by distance it is the level of the largest one."""
        return None if self.bound == NONE else Level(self.rate * self.sensitivity)

    def guarantee(self, carrier: Carrier = ANY_DOCUMENT) -> Guarantee:
        """Pure DP, or metric DP."""
        how = f"{say_bound(self.bound, self.clip_norm)}, with Laplace noise on {self.size} numbers"
        by = f"Euclidean distance between vectors by {carrier.encoder}"
        by += f", {say_bound(self.bound, self.clip_norm)}" if self.bound == NORMALIZE else ""
        return state(carrier, how, epsilon=self.epsilon, metric=by if self.metric else "")

    def prepare(self, rows: Floats) -> Floats:
        """Each row at its length."""
        return bring_inside(check_rows(rows, self.size), self.bound, self.clip_norm)

    def apart(self, first: Floats, second: Floats) -> Floats:
        """Euclidean."""
        found: Floats = np.linalg.norm(first - second, axis=1)
        return found

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        """One independent draw for each row; all that follows is post-processing."""
        found: Floats = self.prepare(rows) + laplace_noise(
            self.size, self.rate, len(rows), randomness
        )
        return found

    def log_likelihoods(self, released: Floats, prepared: Floats) -> Floats:
        """−rate times the distance."""
        found: Floats = -self.rate * np.sqrt(squared_distances(released, prepared))
        return found

    def facts(self) -> dict[str, Any]:
        """The rate of the noise and how long it is on average."""
        return {
            "sensitivity": None if self.bound == NONE else self.sensitivity,
            "noise_rate": self.rate,
            "mean_noise_length": self.size / self.rate,
        }
