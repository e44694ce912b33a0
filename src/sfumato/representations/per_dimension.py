"""Laplace noise on every coordinate of a vector by itself.

Guarantee
    Pure ε-DP for any two documents (or words), whatever they say.

Why it holds
    Independent Laplace noise of scale Δ₁/ε on every coordinate has density ∝ exp(−ε·‖z‖₁/Δ₁), so
    what counts is how far apart two vectors can be in L1, over *all* coordinates together:

    - ``bound=l1``: each vector is scaled so that the absolute values of its coordinates add up to
      C. Then Δ₁ = 2C.
    - ``bound=normalize`` or ``clip``: of L2 length C, or at most that. Then ‖x‖₁ <= √k·‖x‖₂, and
      Δ₁ = 2C·√k.
    - ``bound=box``: each coordinate cut to [−C, C]. Then Δ₁ = 2C·k: every coordinate may change.

Care
    This is where published claims are off. CAPE and DPNR scale coordinates to [0, 1] and take
    Δ₁ = 1, which is that of one coordinate: the true level is k·ε (768 times what is claimed).
    The code of FEDERATE divides by the L2 norm and takes Δ₁ = 2, right for the L1 norm: the true
    level is √k·ε. `verify` refutes all three. For vectors whose numbers are all about as large,
    ``l1`` has 1/√(π/2) = 0.8 times the noise of ``normalize``, and 1.13 times that of ``laplace``,
    which is the law to take unless coordinates must be independent. Numbers have 53 bits, so the
    statement holds for the real-valued law that these draws approximate.

Reference
    Plant, Gkatzia and Giuffrida 2021, "CAPE: Context-aware private embeddings for private language
    learning"; Lyu, He and Li 2020, "Differentially private representation for NLP"; Maheshwari et
    al. 2022, "Fair NLP models with differentially private text encoders" (FEDERATE).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.accounting.guessing import Level
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.laplace import laplace_coordinates
from sfumato.mechanisms.vector_sets import clip_to_box, scale_rows
from sfumato.representations.mechanism import (
    ANY_DOCUMENT,
    CLIP,
    NORMALIZE,
    Carrier,
    bring_inside,
    check_bound,
    check_numbers,
    check_rows,
    say_bound,
    state,
)

L1, BOX = "l1", "box"
# Differences that are held at once when likelihoods are computed (64 MB).
_CELLS = 1 << 23


@dataclass(frozen=True, kw_only=True)
class PerDimension:
    """Independent Laplace noise on each of the ``size`` numbers of a vector.

    ``bound`` says what ``clip_norm`` bounds: the sum of absolute values (l1), the Euclidean length
    (normalize, clip), or each number (box).

    >>> each = PerDimension(size=4, epsilon=8)
    >>> each.sensitivity, each.scale, PerDimension(size=4, epsilon=8, bound="box").sensitivity
    (2.0, 0.25, 8.0)
    """

    size: int
    epsilon: float
    bound: str = L1
    clip_norm: float = 1.0

    def __post_init__(self) -> None:
        level, length = check_numbers(self.size, self.epsilon, self.clip_norm)
        object.__setattr__(self, "epsilon", level)
        object.__setattr__(self, "clip_norm", length)
        check_bound(self.bound, (L1, NORMALIZE, CLIP, BOX))

    @property
    def outputs(self) -> int:
        """As many numbers as go in."""
        return self.size

    @property
    def sensitivity(self) -> float:
        """Δ₁: how far apart two bounded vectors can be, in L1."""
        wide = {L1: 1.0, BOX: float(self.size)}.get(self.bound, math.sqrt(self.size))
        return 2 * self.clip_norm * wide

    @property
    def scale(self) -> float:
        """The scale of the noise on each number."""
        return self.sensitivity / self.epsilon

    @property
    def level(self) -> Level:
        """For any two rows."""
        return Level(self.epsilon)

    def guarantee(self, carrier: Carrier = ANY_DOCUMENT) -> Guarantee:
        """Pure DP."""
        bounded = {
            L1: f"each scaled to an L1 length of {self.clip_norm:g}",
            BOX: f"each number cut to {self.clip_norm:g}",
        }.get(self.bound, say_bound(self.bound, self.clip_norm))
        how = f"{bounded}, with Laplace noise on each of {self.size} numbers"
        return state(carrier, how, epsilon=self.epsilon)

    def prepare(self, rows: Floats) -> Floats:
        """Each row within its bound."""
        checked = check_rows(rows, self.size)
        if self.bound == L1:
            return scale_rows(checked, self.clip_norm, order=1)
        if self.bound == BOX:
            return clip_to_box(checked, self.clip_norm)
        return bring_inside(checked, self.bound, self.clip_norm)

    def apart(self, first: Floats, second: Floats) -> Floats:
        """The sum of absolute differences."""
        found: Floats = np.abs(first - second).sum(axis=1)
        return found

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        """One independent draw for each number; all that follows is post-processing."""
        shape = (len(rows), self.size)
        found: Floats = self.prepare(rows) + laplace_coordinates(shape, self.scale, randomness)
        return found

    def log_likelihoods(self, released: Floats, prepared: Floats) -> Floats:
        """−‖y − x‖₁/scale."""
        found = np.empty((len(released), len(prepared)))
        step = max(1, _CELLS // max(1, prepared.size))
        for start in range(0, len(released), step):
            some = released[start : start + step, None, :]
            found[start : start + step] = np.abs(some - prepared[None, :, :]).sum(axis=2)
        return -found / self.scale

    def facts(self) -> dict[str, Any]:
        """The noise on a number, and how long it is on the whole, about."""
        return {
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            "mean_noise_length": self.scale * math.sqrt(2 * self.size),
        }
