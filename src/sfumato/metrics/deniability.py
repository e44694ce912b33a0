"""How likely a word stays as it is: N_w = P[M(w) = w].

Exact where a mechanism has rows; otherwise estimated by drawing from it, with a Wilson interval. It
depends on the word and on public vectors only, so computing it costs no privacy; *publishing* it
for the words of a private text would name those words.

Reference
    Feyisetan et al. 2020, Section 4 (plausible deniability statistics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.checks import at_least
from sfumato.core.intervals import wilson
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.rows import RowMechanism

FREQUENT = 10_000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share with its 95 % interval; an exact one took no draws."""

    value: float
    low: float
    high: float
    draws: int


def keep_probabilities(
    mechanism: PointMechanism, words: Sequence[str], draws: int, randomness: Randomness
) -> dict[str, Estimate]:
    """N_w for each distinct word; a word outside the vocabulary can never be an output."""
    at_least("draws", draws, 1)
    space = mechanism.space
    estimates: dict[str, Estimate] = {}
    for word in dict.fromkeys(words):
        point = space.point_of(word)
        if isinstance(mechanism, RowMechanism):
            exact = 0.0 if point == space.unknown else float(mechanism.row(point)[point])
            estimates[word] = Estimate(exact, exact, exact, 0)
            continue
        outputs = mechanism.privatize(np.full(draws, point, dtype=np.intp), randomness)
        stayed = int((outputs == point).sum())
        estimates[word] = Estimate(stayed / draws, *wilson(stayed, draws), draws)
    return estimates


def typical_keep_probability(
    mechanism: PointMechanism, randomness: Randomness, *, words: int = 300, draws: int = 40
) -> Estimate:
    """The mean of N_w over a random sample of the frequent public words.

    What a level means in a space, before any private text is touched.
    """
    size = min(FREQUENT, len(mechanism.space))
    sample = randomness.choose(size, min(words, size)).astype(np.intp)
    points = np.repeat(sample, draws)
    stayed = int((mechanism.privatize(points, randomness) == points).sum())
    return Estimate(stayed / len(points), *wilson(stayed, len(points)), len(points))
