"""How well many words are hidden at one level: typical words, and those hidden least.

The median says what a level does to a typical word, never that all words are safe: words in empty
regions of the space stay as they are long after the median has become small. So the tail is
looked for, not left to chance: besides a random sample, the words whose surroundings are emptiest
are measured too.

Care
    Where there are no rows, the words that seem least protected are measured once more with fresh
    draws; otherwise the list would hold the words that happened to stay in the first ones. The
    quantiles are over estimates, each of which has noise of its own, so the outer ones lie a little
    too far out.

How alone a word stands in a public space.

Words in sparse regions keep their place long after typical words have lost it. Which words those
are follows from public vectors alone, so they can be looked for among all words before any noise
is drawn; what a mechanism does to them is then measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points
from sfumato.core.checks import at_least
from sfumato.core.progress import Advance
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.metrics.deniability import Deniability, DrawEffort, Estimate, measure_deniability
from sfumato.metrics.population import Population
from sfumato.statistics.shares import median_interval
from sfumato.vectors.space import Space

# Neighbors are counted among an evenly spaced part of the vocabulary: the ten nearest of one word
# in ten tell how dense a region is, at a tenth of the price.
LANDMARKS = 6000
NEIGHBORS = 10
BLOCK = 512


@dataclass(frozen=True, slots=True)
class Neighbor:
    """The nearest other word, and how far it is."""

    word: str
    distance: float


def nearest_neighbor(space: Space, point: int) -> Neighbor:
    """The nearest other word of the vocabulary."""
    distances = space.distances_from(point)
    distances[point] = np.inf
    nearest = int(distances.argmin())
    return Neighbor(space.words[nearest], float(distances[nearest]))


def most_isolated(space: Space, points: Points, count: int) -> Points:
    """Those of the points whose surroundings are emptiest, the emptiest first."""
    order = np.argsort(-surroundings(space, points), kind="stable")
    return points[order[:count]]


def surroundings(space: Space, points: Points) -> Floats:
    """Mean distance to the nearest landmarks, for each point."""
    landmarks = np.arange(0, len(space), max(1, len(space) // LANDMARKS))
    places = space.at(landmarks) - space.centroid
    lengths = np.einsum("nd,nd->n", places, places)
    near = min(NEIGHBORS, len(landmarks) - 1)
    found = np.empty(len(points))
    for start in range(0, len(points), BLOCK):
        block = points[start : start + BLOCK]
        here = space.at(block) - space.centroid
        squares = lengths - 2.0 * (here @ places.T)
        squares += np.einsum("nd,nd->n", here, here)[:, None]
        squares[block[:, None] == landmarks] = np.inf  # a word is no neighbor of its own
        nearest = np.partition(squares, near - 1, axis=1)[:, :near]
        found[start : start + BLOCK] = np.sqrt(np.maximum(nearest, 0.0)).mean(axis=1)
    return found


LISTED = 10
# Isolated words that are measured besides the sample.
SUSPECTS = 30


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

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return {"p10": self.low, "median": self.median, "p90": self.high}


@dataclass(frozen=True, kw_only=True, repr=False)
class Exposed:
    """A word that is hidden less than others. The word may be private."""

    word: str
    keep: Estimate
    outputs: int
    neighbor: Neighbor

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "word": self.word,
            "keep": self.keep.value,
            "low": self.keep.low,
            "high": self.keep.high,
            "outputs": self.outputs,
            "nearest": self.neighbor.word,
            "distance": self.neighbor.distance,
        }


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

    def as_dict(self) -> dict[str, Any]:
        """For JSON; only the words of the list are named."""
        return {
            "exact": self.exact,
            "draws_per_word": self.draws,
            "words": self.words,
            "keep": {
                **self.keep.as_dict(),
                "median_low": self.median.low,
                "median_high": self.median.high,
                "worst": self.worst_keep,
                "share_above_0.5": self.above_half,
                "share_above_0.9": self.above_nine_tenths,
            },
            "outputs": {
                **self.outputs.as_dict(),
                "worst": self.worst_outputs,
                "kind": "exact" if self.exact else "lower bound",
            },
            "least_protected": [one.as_dict() for one in self.exposed],
        }


def measure_protection(
    mechanism: PointMechanism,
    watched: Watched,
    effort: DrawEffort,
    randomness: Randomness,
    done: Advance = lambda _: None,
) -> Protection:
    """Measure the sample for its quantiles, and everything watched for its tail."""
    # Some words are both in the sample and suspected; one measurement of them will do.
    points = np.concatenate([watched.sample, np.setdiff1d(watched.suspects, watched.sample)])
    measured = measure_deniability(mechanism, points, effort, randomness.stream(0), done)
    listed, again = points, measured
    if not measured.exact:
        listed = points[_worst(points, measured)]
        again = measure_deniability(mechanism, listed, effort, randomness.stream(1), done)
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
        neighbor=nearest_neighbor(space, point),
    )


def _spread(outputs: NDArray[np.int64]) -> Spread:
    # A count that occurred, so no half words.
    low, median, high = np.quantile(outputs, [0.1, 0.5, 0.9], method="lower")
    return Spread(low=float(low), median=float(median), high=float(high))
