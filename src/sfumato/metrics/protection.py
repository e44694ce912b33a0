"""How well many words are hidden at one level: typical words, and those hidden least.

The median says what a level does to a typical word, never that all words are safe: words in sparse
regions of the space stay unchanged long after the median has become small. So besides a random
sample, the most isolated words are measured. How isolated a word is follows from public vectors
alone, so they can be found among all words before any noise is drawn.

Care
    Where there are no rows, the words that seem least protected are measured again with fresh
    draws; otherwise the list would hold words that happened to stay in the first draws. The
    quantiles are over estimates, each with its own sampling error, so the outer quantiles lie a
    little too far out.
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

# Neighbors are searched among an evenly spaced part of the vocabulary, which shows the density of a
# region at a fraction of the cost.
LANDMARKS = 6000
NEIGHBORS = 10
BLOCK = 512
LISTED = 10
# The number of isolated words that are measured besides the sample.
SUSPECTS = 30


@dataclass(frozen=True, slots=True)
class Neighbor:
    """The nearest other word, and its distance."""

    word: str
    distance: float


def nearest_neighbor(space: Space, point: int) -> Neighbor:
    """The nearest other word of the vocabulary."""
    distances = space.distances_from(point)
    distances[point] = np.inf
    nearest = int(distances.argmin())
    return Neighbor(space.words[nearest], float(distances[nearest]))


def most_isolated(space: Space, points: Points, count: int) -> Points:
    """The most isolated of the points, the most isolated first."""
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
        squares[block[:, None] == landmarks] = np.inf  # a word is not its own neighbor
        nearest = np.partition(squares, near - 1, axis=1)[:, :near]
        found[start : start + BLOCK] = np.sqrt(np.maximum(nearest, 0.0)).mean(axis=1)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Watched:
    """The words that are measured: a random sample, and the most isolated words."""

    sample: Points
    suspects: Points

    @classmethod
    def of(cls, population: Population, words: int, randomness: Randomness) -> Watched:
        """At most ``words`` random words, and the most isolated words of the population."""
        at_least("words", words, 1)
        return cls(
            population.some(words, randomness),
            most_isolated(population.space, population.points, SUSPECTS),
        )

    def __len__(self) -> int:
        return len(np.union1d(self.sample, self.suspects))


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The 10 %, 50 % and 90 % quantiles of a figure over words."""

    low: float
    median: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """For JSON."""
        return {"p10": self.low, "median": self.median, "p90": self.high}


@dataclass(frozen=True, kw_only=True, repr=False)
class Exposed:
    """A word that is hidden less than most. The word may be private."""

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
    """What a mechanism does to words at one level; ``draws`` is 0 if all figures are exact."""

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
        """Whether the figures are exact."""
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
    """Measure the sample for the quantiles, and all watched words for the tail."""
    # Words that are in the sample and isolated are measured once.
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
    # Of words that stay equally often, the one with fewer outputs is worse.
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
    # Quantiles of counts are counts that occurred.
    low, median, high = np.quantile(outputs, [0.1, 0.5, 0.9], method="lower")
    return Spread(low=float(low), median=float(median), high=float(high))
