"""A public random projection to few dimensions, bounded after it, with noise there.

Guarantee
    Pure ε-DP for any two documents (or words), whatever they say; with a ``delta``, (ε, δ)-DP by
    Gaussian noise.

Why it holds
    The projection Φ is public and drawn without looking at any vector, so a projected vector is a
    function of the text. It is scaled or cut to length C *after* projecting, so any two are at
    most 2C apart, and noise is added for that (``laplace_vectors.py``, ``gaussian_vectors.py``).
    Nothing about Φ has to be proven.

Care
    A random projection keeps lengths on average and not each of them: with orthogonal rows of
    length √(d/m) a vector may come out √(d/m) times as long, and with Gaussian rows longer. Whoever
    bounds vectors before projecting, and takes 2C for their distance after it, has proven nothing.
    Noise has the length m·2C/ε in place of d·2C/ε, but what the projection forgets is gone:
    angles between vectors are known up to about 1/√m. ``projection_seed`` is public by design: it
    decides which projection is used and nothing else.

Reference
    Feyisetan and Kasiviswanathan 2021, "Private release of text embedding vectors".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.guessing import Level
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.projected import random_projection
from sfumato.mechanisms.vector_sets import scale_rows
from sfumato.representations.gaussian_vectors import GaussianVectors
from sfumato.representations.laplace_vectors import LaplaceVectors
from sfumato.representations.mechanism import (
    ANY_DOCUMENT,
    CLIP,
    NORMALIZE,
    Carrier,
    check_bound,
    check_delta,
    check_numbers,
    check_rows,
    say_bound,
    state,
)

# A vector of a sentence keeps most of what it tells in an eighth of its dimensions.
_SHARE, _FEWEST = 8, 8


@dataclass(frozen=True, kw_only=True)
class ProjectedVectors:
    """Project vectors of ``size`` numbers to ``dimensions``, bound them there, and add noise.

    Without ``dimensions`` an eighth is left, and eight at least. ``bound`` scales every projected
    vector to ``clip_norm`` (normalize), or cuts longer ones to it (clip). With ``delta`` the noise
    is Gaussian, without it Laplace.

    >>> projected = ProjectedVectors(size=384, epsilon=10)
    >>> projected.outputs, projected.sensitivity
    (48, 2.0)
    """

    size: int
    epsilon: float
    delta: float = 0.0
    dimensions: int | None = None
    bound: str = NORMALIZE
    clip_norm: float = 1.0
    projection_seed: int = 0

    def __post_init__(self) -> None:
        level, length = check_numbers(self.size, self.epsilon, self.clip_norm)
        object.__setattr__(self, "epsilon", level)
        object.__setattr__(self, "clip_norm", length)
        check_bound(self.bound, (NORMALIZE, CLIP))
        check_delta(self.delta)
        at_least("projection_seed", self.projection_seed, 0, most=None)
        if self.dimensions is not None:
            at_least("dimensions", self.dimensions, 1)
            if self.dimensions > self.size:
                raise InvalidArgument(
                    f"dimensions={self.dimensions} must be at most {self.size}, which a vector has"
                )

    @property
    def outputs(self) -> int:
        """What the projection leaves."""
        usual = min(self.size, max(_FEWEST, self.size // _SHARE))
        return usual if self.dimensions is None else self.dimensions

    @cached_property
    def projection(self) -> Floats:
        """Φ, one row per dimension that is left; public."""
        return random_projection(self.outputs, self.size, self.projection_seed)

    @cached_property
    def inner(self) -> LaplaceVectors | GaussianVectors:
        """The noise after the projection, with its bound."""
        if self.delta:
            return GaussianVectors(
                size=self.outputs, epsilon=self.epsilon, delta=self.delta,
                bound=self.bound, clip_norm=self.clip_norm,
            )  # fmt: skip
        return LaplaceVectors(
            size=self.outputs, epsilon=self.epsilon, bound=self.bound, clip_norm=self.clip_norm
        )

    @property
    def sensitivity(self) -> float:
        """Twice the length of a projected vector."""
        return self.inner.sensitivity

    @property
    def level(self) -> Level | None:
        """For any two rows."""
        return self.inner.level

    def guarantee(self, carrier: Carrier = ANY_DOCUMENT) -> Guarantee:
        """Pure DP, or with a delta approximate DP."""
        noise = "Gaussian" if self.delta else "Laplace"
        how = (
            f"projected to {self.outputs} of {self.size} numbers by public projection "
            f"{self.projection_seed}, then {say_bound(self.bound, self.clip_norm)}, with {noise} "
            "noise"
        )
        return state(carrier, how, epsilon=self.epsilon, delta=self.delta)

    def prepare(self, rows: Floats) -> Floats:
        """Each row projected, and then bounded."""
        # To length 1 first: that bounds nothing that counts, and huge numbers stay numbers.
        whole = scale_rows(check_rows(rows, self.size), 1.0)
        return self.inner.prepare(whole @ self.projection.T)

    def apart(self, first: Floats, second: Floats) -> Floats:
        """Euclidean, after the projection."""
        return self.inner.apart(first, second)

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        """One independent draw for each row; all that follows is post-processing."""
        return self.inner.release(self.prepare(rows), randomness)

    def log_likelihoods(self, released: Floats, prepared: Floats) -> Floats:
        """That of the noise after the projection."""
        return self.inner.log_likelihoods(released, prepared)

    def facts(self) -> dict[str, Any]:
        """The noise, and how far the projection can stretch a vector."""
        stretch = float(np.linalg.norm(self.projection, ord=2))
        return self.inner.facts() | {"dimensions": self.outputs, "largest_stretch": stretch}
