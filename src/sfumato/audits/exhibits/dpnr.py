"""DPNR: noise for one coordinate, spent on all of them.

What is claimed
    Drop every word with probability μ, scale the coordinates of the text's representation to
    [0, 1], add Laplace noise of scale 1/ε to each: for texts that differ in one word, a level of
    ln((1−μ)·exp(ε) + μ).

Why it is false
    All k coordinates may change by 1, so the L1 sensitivity is k, not 1: without dropout the level
    is k·ε. Dropping the word makes that smaller, but not small enough.

Repair
    Scale k/ε. The amplification by dropout is right for texts that differ in one word.

Reference
    Lyu, He and Li 2020, "Differentially private representation for NLP: Formal guarantee and an
    empirical study on privacy and fairness".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.exhibits.exhibit import Exhibit, laplace_coordinates
from sfumato.audits.subject import Subject
from sfumato.audits.vectors import VectorSubject
from sfumato.core.randomness import Randomness

DIMENSION = 16
DROPPED = 0.1
EPSILON = 1.0
LEVEL = math.log((1 - DROPPED) * math.exp(EPSILON) + DROPPED)
# The representation with each word, as far apart as scaling allows; without it, as with the first.
WITH_WORD = (0.0, 1.0)
TEXTS = ("a text represented by (0, 0, …)", "the same with one other word, by (1, 1, …)")
CLAIM = (
    "Texts that differ in one word are told apart by a factor of at most "
    f"exp({LEVEL:.4g}) = (1 − {DROPPED:g})·exp({EPSILON:g}) + {DROPPED:g}."
)


def make_broken() -> Subject:
    """As published: scale 1/ε."""
    return _subject(1 / EPSILON)


def make_repaired() -> Subject:
    """The scale that k coordinates need."""
    return _subject(DIMENSION / EPSILON)


def _subject(scale: float) -> Subject:
    def source(number: int, count: int, randomness: Randomness) -> NDArray[np.float64]:
        kept = randomness.uniform(count) >= DROPPED
        places = np.where(kept, WITH_WORD[number], WITH_WORD[0])
        return places[:, None] + laplace_coordinates((count, DIMENSION), scale, randomness)

    return VectorSubject(claim=CLAIM, epsilon=LEVEL, inputs=TEXTS, source=source)


EXHIBIT = Exhibit(
    name="dpnr",
    source="DPNR (Lyu, He and Li 2020)",
    claim="Laplace noise of scale 1/ε on coordinates in [0, 1] gives ln((1−μ)·exp(ε) + μ)",
    reason=f"the L1 sensitivity is k = {DIMENSION}, not 1",
    repair="scale k/ε",
    broken=make_broken,
    repaired=make_repaired,
)
