"""Does a figure rise or fall with the level? A permutation test that knows about seeds.

Why the p-values hold
    If the level made no difference, the figures of one seed would be as likely in any other order.
    So they are shuffled among the levels within each seed, which also takes out what all figures
    of a seed have in common; figures of seeds that were used at one level only are shuffled among
    themselves. The statistic is how much of the squares a monotone curve explains, which sees a
    sudden step as well as a steady rise. No law of the noise is assumed.

Care
    Apart from what a seed adds to all its figures, they must err independently. In a study every
    level draws its own weights and noise. Where levels share their draws, neighboring ones err
    alike, and that looks like a trend more often than the p-value says.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.calibration.curves import CurvePoint
from sfumato.core.arrays import Floats
from sfumato.core.randomness import Randomness
from sfumato.statistics.isotonic import isotonic_rows

SHUFFLES = 1999
# Sums in another order differ in the last digits; equal ones must count as equal.
ROUNDING = 1e-9
# Seeds that were used at one level only are shuffled together, under a number no seed has.
TOGETHER = -1


@dataclass(frozen=True, kw_only=True)
class Trend:
    """Which way the figures go, and how surely.

    ``rising_p`` and ``falling_p`` are one-sided, ``either_p`` is for a reader who looks at both
    ways and takes the better one. ``smallest_p`` is the smallest that so few figures can give
    one-sided.
    """

    rising: bool
    rising_p: float
    falling_p: float
    either_p: float
    smallest_p: float

    def p(self, rising: bool | None) -> float:
        """The p-value for a direction that was known before, or for none."""
        if rising is None:
            return self.either_p
        return self.rising_p if rising else self.falling_p

    def could_show(self, alpha: float, *, either: bool) -> bool:
        """Whether a perfect order of so many figures would be significant at all."""
        return self.smallest_p * (2 if either else 1) <= alpha


def trend(points: Sequence[CurvePoint], randomness: Randomness) -> Trend:
    """Test the figures for a trend; larger values are "rising" if they come with larger levels."""
    levels = sorted({point.level for point in points})
    places = np.array([levels.index(point.level) for point in points])
    blocks = blocks_of(points)
    values = np.array([point.value for point in points])
    for block in set(blocks.tolist()):
        # What a seed adds to all its figures is no trend.
        values[blocks == block] -= values[blocks == block].mean()
    shuffled = np.empty((SHUFFLES + 1, len(values)))
    shuffled[0] = values
    for block in sorted(set(blocks.tolist())):
        inside = np.flatnonzero(blocks == block)
        draws = randomness.uniform(SHUFFLES * len(inside)).reshape(SHUFFLES, len(inside))
        shuffled[1:, inside] = values[inside][np.argsort(draws, axis=1)]
    counts = np.bincount(places, minlength=len(levels)).astype(np.float64)
    means = shuffled @ (np.eye(len(levels))[places] / counts)
    rising, falling = (_explain(way * means, counts) for way in (1.0, -1.0))
    return Trend(
        rising=bool(rising[0] >= falling[0]),
        rising_p=_p(rising),
        falling_p=_p(falling),
        either_p=_p(np.maximum(rising, falling)),
        smallest_p=1.0 / _arrangements(places, blocks),
    )


def blocks_of(points: Sequence[CurvePoint]) -> NDArray[np.int64]:
    """Which figures belong together: those of a seed that was used at several levels."""
    often = Counter(point.seed for point in points)
    return np.array([point.seed if often[point.seed] > 1 else TOGETHER for point in points])


def _explain(means: Floats, counts: Floats) -> Floats:
    fitted = isotonic_rows(means, counts)
    middle = (fitted @ counts / counts.sum())[:, None]
    return np.asarray(np.square(fitted - middle) @ counts)


def _p(statistics: Floats) -> float:
    """The share of orders, the observed one among them, that do as well."""
    observed = statistics[0] * (1 - ROUNDING)
    return float(np.count_nonzero(statistics >= observed) / len(statistics))


def _arrangements(places: NDArray[np.int64], blocks: NDArray[np.int64]) -> float:
    """In how many ways the figures can be put on the levels."""
    logarithm = 0.0
    for block in set(blocks.tolist()):
        inside = Counter(places[blocks == block].tolist())
        logarithm += math.lgamma(sum(inside.values()) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in inside.values())
    return round(math.exp(min(logarithm, 600.0)), 6)
