"""OME: bits that are kept too well.

What is claimed
    Write r coordinates with l bits each. A bit that is 1 stays 1 with probability λ/(1+λ) at even
    places and 1/(1+λ³) at odd ones; a bit that is 0 becomes 1 with probability
    1/(1+λ·exp(ε/(r·l))): ε-local differential privacy whatever λ is, so λ = 100 for usefulness.

Why it is false
    At an even place a 1 comes out of a 1 with probability near 1 and out of a 0 with about 1/λ: one
    bit alone costs about ln λ + ε/(r·l), far above ε/(r·l). At odd places it is 2·ln λ − ε/(r·l).

Repair
    Flip each of the r·l bits with probability 1/(1+exp(ε/(r·l))).

Reference
    Lyu, Li, He and Xiao 2020, "Towards differentially private text representations"; probabilities
    as in the authors' published code.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit
from sfumato.audits.subject import Subject
from sfumato.audits.vectors import VectorSubject
from sfumato.core.randomness import Randomness

COORDINATES, BITS = 5, 10
PLACES = COORDINATES * BITS
FACTOR = 100.0
EPSILON = 1.0
# Two codes that differ in all bits: the largest difference that the claim must cover.
CODES = np.stack([np.arange(PLACES) % 3 == 0, np.arange(PLACES) % 3 != 0])
TEXTS = ("a text with code 100100…", "a text with code 011011…")
CLAIM = f"Any two texts are told apart by a factor of at most exp({EPSILON:g}) (local DP)."


def make_broken() -> Subject:
    """As published, λ = 100."""
    even = np.arange(PLACES) % 2 == 0
    one_from_one = np.where(even, FACTOR / (1 + FACTOR), 1 / (1 + FACTOR**3))
    one_from_zero = np.full(PLACES, 1 / (1 + FACTOR * math.exp(EPSILON / PLACES)))
    return _subject(one_from_one, one_from_zero)


def make_repaired() -> Subject:
    """Every bit is flipped with the same chance, and the chances pay for all bits together."""
    flipped = np.full(PLACES, 1 / (1 + math.exp(EPSILON / PLACES)))
    return _subject(1 - flipped, flipped)


def _subject(one_from_one: NDArray[np.float64], one_from_zero: NDArray[np.float64]) -> Subject:
    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        chances = np.where(CODES[number], one_from_one, one_from_zero)
        bits = randomness.uniform(count * PLACES).reshape(count, PLACES) < chances
        return bits.astype(np.float64)

    return VectorSubject(claim=CLAIM, epsilon=EPSILON, inputs=TEXTS, source=source)


EXHIBIT = Exhibit(
    name="ome",
    source="OME (Lyu, Li, He and Xiao 2020)",
    claim="bits kept and set with chances that depend on λ = 100 are ε-local DP",
    reason="one bit alone costs about ln λ, whatever ε is",
    repair="flip each of the r·l bits with probability 1/(1+exp(ε/(r·l)))",
    broken=make_broken,
    repaired=make_repaired,
)
