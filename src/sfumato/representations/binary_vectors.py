"""A vector as a few bits, each flipped at random.

Guarantee
    Pure ε-DP for any two documents (or words), whatever they say.

Why it holds
    A vector becomes m bits: on which side of m public random planes it lies. Each bit is flipped
    with probability 1/(1 + e^(ε/m)), independently, so one bit tells two inputs apart by at most
    e^(ε/m), and all m of them, which may all differ, by at most e^ε. The chance is raised to the
    next one that a draw can have, and outputs are ±1: nothing is left to rounding, here the
    statement is about the very draws.

Care
    Few bits know little about a vector, and many bits are almost coins: at a fixed ε the signal of
    all of them together falls like 1/√m. Optimized multiple encoding (OME) keeps bits with chances
    that depend on λ = 100 and claims the same level; one of its bits costs about ln λ (`verify`
    refutes it). ``projection_seed`` is public by design.

Reference
    Lyu, Li, He and Xiao 2020, "Towards differentially private text representations", for bits of
    a representation; this is their repair. Warner 1965 for the flips.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.guessing import Level
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.binary import MOST_BITS, flip_chance
from sfumato.mechanisms.vector_sets import scale_rows
from sfumato.representations.mechanism import (
    ANY_DOCUMENT,
    Carrier,
    check_numbers,
    check_rows,
    state,
)


@dataclass(frozen=True, kw_only=True)
class BinaryVectors:
    """Flip the ``bits`` of a vector's code; they come out as −1 and 1.

    >>> binary = BinaryVectors(size=50, epsilon=8, bits=16)
    >>> noisy = binary.release(np.ones((2, 50)), Randomness.reproducible(1))
    >>> noisy.shape, set(noisy.ravel().tolist()) <= {-1.0, 1.0}
    ((2, 16), True)
    """

    size: int
    epsilon: float
    bits: int = 32
    projection_seed: int = 0

    def __post_init__(self) -> None:
        level, _ = check_numbers(self.size, self.epsilon, 1.0)
        object.__setattr__(self, "epsilon", level)
        at_least("bits", self.bits, 1, MOST_BITS)
        at_least("projection_seed", self.projection_seed, 0, most=None)

    @property
    def outputs(self) -> int:
        """A number for each bit."""
        return self.bits

    @property
    def sensitivity(self) -> float:
        """All bits may differ."""
        return float(self.bits)

    @property
    def flip_chance(self) -> float:
        """How likely a bit is flipped."""
        return flip_chance(self.epsilon / self.bits)

    @property
    def level(self) -> Level:
        """For any two rows."""
        return Level(self.epsilon)

    def guarantee(self, carrier: Carrier = ANY_DOCUMENT) -> Guarantee:
        """Pure DP."""
        how = (
            f"as {self.bits} bits, the sides of public planes {self.projection_seed} on which it "
            "lies, each flipped at random"
        )
        return state(carrier, how, epsilon=self.epsilon)

    @cached_property
    def _planes(self) -> Floats:
        # Public; another kind of generator than that of the flips, it shares no number with it.
        generator = np.random.default_rng(self.projection_seed)
        return generator.standard_normal((self.size, self.bits))

    def prepare(self, rows: Floats) -> Floats:
        """The code of each row, as −1 and 1."""
        whole = scale_rows(check_rows(rows, self.size), 1.0)
        found: Floats = np.where(whole @ self._planes >= 0, 1.0, -1.0)
        return found

    def apart(self, first: Floats, second: Floats) -> Floats:
        """In how many bits two codes differ."""
        found: Floats = (first != second).sum(axis=1).astype(np.float64)
        return found

    def release(self, rows: Floats, randomness: Randomness) -> Floats:
        """One independent flip, or none, for each bit."""
        codes = self.prepare(rows)
        flipped = (randomness.uniform(codes.size) < self.flip_chance).reshape(codes.shape)
        found: Floats = np.where(flipped, -codes, codes)
        return found

    def log_likelihoods(self, released: Floats, prepared: Floats) -> Floats:
        """Differing bits times the log-odds of a flip."""
        differing = (self.bits - released @ prepared.T) / 2
        odds = math.log(self.flip_chance) - math.log1p(-self.flip_chance)
        found: Floats = differing * odds
        return found

    def facts(self) -> dict[str, Any]:
        """How likely a bit is flipped."""
        return {"sensitivity": self.sensitivity, "bits": self.bits, "flip_chance": self.flip_chance}
