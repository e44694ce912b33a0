"""How well many words are hidden at one level: typical words, and those hidden least.

The median says what a level does to a typical word, never that all words are safe: words in empty
regions of the space stay as they are long after the median has become small. So the tail is
looked for, not left to chance: besides a random sample, the words whose surroundings are emptiest
are measured too.

Care
    Where there are no rows, the words that seem least protected are measured once more with fresh
    draws; otherwise the list would hold whichever words had luck in the first ones. The quantiles
    are over estimates, each of which has noise of its own, so the outer ones lie a little too far
    out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import at_least
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import Deniability, Done, Effort, Estimate, deniability
from sfumato.metrics.isolation import Neighbour, most_isolated, nearest_neighbour
from sfumato.metrics.population import Population
from sfumato.metrics.quantiles import median_interval
from sfumato.vectors.space import Space

LISTED = 10
# Isolated words that are measured besides the sample.
SUSPECTS = 30

Points = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class Watched:
    """The words that are measured: a random sample, and others that are likely to stand out."""

    sample: Points
    suspects: Points

    @classmethod
    def of(cls, population: Population, words: int, randomness: Randomness) -> Watched:
        """At most so many words at random, and those of the whole population that stand alone."""
        at_least("words", words, 1)
        return cls(
            population.some(words, randomness),
            most_isolated(population.space, population.points, SUSPECTS),
        )

    def __len__(self) -> int:
        return len(np.union1d(self.sample, self.suspects))


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A figure over words: what a tenth, half and nine tenths of them do not exceed."""

    low: float
    median: float
    high: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Exposed:
    """A word that is hidden less than others. The word may be private."""

    word: str
    keep: Estimate
    outputs: int
    neighbour: Neighbour


@dataclass(frozen=True, kw_only=True, repr=False)
class Protection:
    """What a mechanism does to words at one level; ``draws`` is 0 where all is exact."""

    words: int
    draws: int
    keep: Spread
    median: Estimate
    outputs: Spread
    worst_outputs: int
    above_half: float
    above_nine_tenths: float
    exposed: tuple[Exposed, ...]

    @property
    def exact(self) -> bool:
        """Whether the figures come from rows."""
        return self.draws == 0

    @property
    def worst_keep(self) -> float:
        """N_w of the least protected word that was found."""
        return max((one.keep.value for one in self.exposed), default=self.keep.high)


def protection(
    mechanism: PointMechanism,
    watched: Watched,
    effort: Effort,
    randomness: Randomness,
    done: Done = lambda _: None,
) -> Protection:
    """Measure the sample for its quantiles, and everything watched for its tail."""
    # Some words are both in the sample and suspected; one measurement of them will do.
    points = np.concatenate([watched.sample, np.setdiff1d(watched.suspects, watched.sample)])
    measured = deniability(mechanism, points, effort, randomness.stream(0), done)
    listed, again = points, measured
    if not measured.exact:
        listed = points[_worst(points, measured)]
        again = deniability(mechanism, listed, effort, randomness.stream(1), done)
    keep = measured.keep[: len(watched.sample)]
    low, median, high = np.quantile(keep, [0.1, 0.5, 0.9])
    return Protection(
        words=len(watched.sample),
        draws=measured.draws,
        keep=Spread(low=float(low), median=float(median), high=float(high)),
        median=Estimate(float(median), *median_interval(keep), measured.draws),
        outputs=_spread(measured.outputs[: len(watched.sample)]),
        worst_outputs=int(measured.outputs.min()),
        above_half=float((keep > 0.5).mean()),
        above_nine_tenths=float((keep > 0.9).mean()),
        exposed=tuple(
            _exposed(mechanism.space, int(listed[place]), again, place)
            for place in _worst(listed, again)
        ),
    )


def _worst(points: Points, measured: Deniability) -> list[int]:
    # Of words that stay alike, the one with fewer other outputs is worse.
    order: list[int] = np.lexsort((points, measured.outputs, -measured.keep))[:LISTED].tolist()
    return order


def _exposed(space: Space, point: int, measured: Deniability, place: int) -> Exposed:
    return Exposed(
        word=space.words[point],
        keep=measured.estimate(place),
        outputs=int(measured.outputs[place]),
        neighbour=nearest_neighbour(space, point),
    )


def _spread(outputs: NDArray[np.int64]) -> Spread:
    # A count that occurred, so no half words.
    low, median, high = np.quantile(outputs, [0.1, 0.5, 0.9], method="lower")
    return Spread(low=float(low), median=float(median), high=float(high))
