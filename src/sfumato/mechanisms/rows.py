"""Mechanisms whose probabilities can be written down.

A row holds, for one input point, the probability of every word of the vocabulary. It depends on
the point and on public vectors alone, so it is built once for each distinct word of a text, and
kept for the next text as far as there is room: the cost follows the number of different words,
not the length. Draws stay independent, one per occurrence.

Care
    A draw is one of 2^53 numbers, and a row is cumulated in float64, so an output of probability
    below 2^−53 (1.1e-16) may never be drawn. The statement is about the law that the draws
    approximate: for n words they differ from it by a total variation τ of at most 2·n·2^−53,
    besides the last digits of the row itself. (Grid, product and sum change the stretch of each
    word by at most one step of the grid each, and half of all changes is the variation.) Of the
    draws themselves holds what follows from that: where the statement allows a factor of exp(b),
    an event is at most exp(b) times likelier up to δ = (1 + exp(b))·τ. For 60,000 words τ is at
    most 1.4e-11, and δ is 3e-7 at b = 10, 0.007 at b = 20 and no promise from b = 25 on: there an
    output may rule out an input that the statement calls very unlikely.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points, Singles
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.draws import draw_from_rows, sums_of_blocks
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.row_store import RowStore
from sfumato.vectors.distances import extend, squared_distances
from sfumato.vectors.space import Space

# Numbers held at once in a block of rows (32 MB), and words compared with a block at once.
CELLS = 1 << 22
WORDS = 4096
EVERY_WORD = slice(None)
# Up to so many words, chances are read off exact rows; where there are more, so many rows are
# weighed at once.
FEW_WORDS = 4096
AT_ONCE = 32
_NOT_COPIED = ("_kept", "_weights_of_unknown")


@runtime_checkable
class RowMechanism(PointMechanism, Protocol):
    """A mechanism on points that knows the probability of each of its outputs."""

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Natural log-probability of every word, one row per point."""
        ...

    def log_row(self, point: int) -> NDArray[np.float64]:
        """Natural log-probability of every word for one point."""
        ...

    def row(self, point: int) -> NDArray[np.float64]:
        """Probability of every word for one point."""
        ...


class FromRows(ABC):
    """A mechanism that is its rows: all else follows from ``log_rows``.

    ``own_is_likeliest`` says whether P[y | x] <= P[y | y] is proven for all words x and y.
    """

    space: Space
    own_is_likeliest: ClassVar[bool] = False

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proven about one word."""

    @abstractmethod
    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point."""

    def log_row(self, point: int) -> NDArray[np.float64]:
        """Log-probability of every word for one point."""
        return self.log_rows(np.array([point], dtype=np.intp)).ravel()

    def row(self, point: int) -> NDArray[np.float64]:
        """Probability of every word for one point."""
        probabilities: NDArray[np.float64] = np.exp(self.log_row(point))
        return probabilities

    def chances(self, points: Points, words: Points) -> Floats:
        """Probability of some words, one row per point.

        For attackers and pictures: where it is quicker it may be right to some three digits only.
        """
        chances: Floats = np.exp(self.log_rows(points)[:, words])
        return chances

    def own_and_rivals(self, words: Points, shares: Floats) -> tuple[Floats, Floats]:
        """P[y | y] of some words, and a bound on share(x) · P[y | x] for all other words x.

        It is infinite where nothing is proven (``own_is_likeliest``).
        """
        own = np.array([self.row(word)[word] for word in words.tolist()])
        return own, shares.max() * own if self.own_is_likeliest else np.full(len(words), np.inf)

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return draw_from_rows(self, points, randomness, self._kept)

    @cached_property
    def _kept(self) -> RowStore:
        return RowStore(self.space.unknown + 1)

    def __getstate__(self) -> dict[str, Any]:
        # Which rows are there shows which words were privatized: no copy takes them along.
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}


class ByDistance(FromRows):
    """The exponential mechanism for a distance ρ: P[y | x] ∝ exp(−epsilon/2 · ρ(x, y)).

    ρ must be a (pseudo-)metric on the points: then the statement is metric DP at level ``epsilon``
    in ρ, by the triangle inequality, and a word is at distance 0 from itself. By the same
    inequality Z(x) >= exp(−epsilon/2 · ρ(x, y)) · Z(y) for the sums Z of the weights, so no word
    gives y a larger probability than y itself, 1/Z(y).
    """

    epsilon: float
    own_is_likeliest: ClassVar[bool] = True

    @abstractmethod
    def away(self, points: NDArray[np.intp], words: slice = EVERY_WORD) -> NDArray[np.float64]:
        """ρ from each point (one per row) to each of the words (one per column)."""

    def log_rows(self, points: NDArray[np.intp]) -> NDArray[np.float64]:
        """Log-probability of every word, one row per point."""
        scores = self.away(points)
        # What all words of a row have in common cancels; without it no level is too high.
        scores -= scores.min(axis=1, keepdims=True)
        scores *= -0.5 * self.epsilon
        return log_normalized(scores)

    def away_singly(self, points: Points) -> Singles:
        """ρ from each point to every word, in single precision; 0 from a word to itself."""
        return self.away(points).astype(np.float32)

    def chances(self, points: Points, words: Points) -> Floats:
        """Probability of some words, one row per point, from distances in single precision."""
        if len(self.space) <= FEW_WORDS:
            return super().chances(points, words)
        found = np.empty((len(points), len(words)))
        for start in range(0, len(points), AT_ONCE):
            block = slice(start, start + AT_ONCE)
            weights = self._weights_singly(points[block])
            found[block] = weights[:, words] / weights.sum(axis=1, dtype=np.float64)[:, None]
        return found

    def own_and_rivals(self, words: Points, shares: Floats) -> tuple[Floats, Floats]:
        """P[y | y] of some words, and a bound on share(x) · P[y | x] for all other words x.

        P[y | x] is at most P[y | y], and exp(−epsilon/2 · ρ(x, y)) as well: Z(x) >= 1.
        """
        own, rivals = np.empty(len(words)), np.empty(len(words))
        likely = shares[: len(self.space)].astype(np.float32)
        for start in range(0, len(words), AT_ONCE):
            block = words[start : start + AT_ONCE]
            weights = self._weights_singly(block)
            here = 1 / weights.sum(axis=1, dtype=np.float64)
            np.minimum(weights, here.astype(np.float32)[:, None], out=weights)
            weights *= likely
            weights[np.arange(len(block)), block] = 0
            own[start : start + AT_ONCE] = here
            rivals[start : start + AT_ONCE] = weights.max(axis=1)
        return own, rivals

    def _weights_singly(self, points: Points) -> Singles:
        """exp(−epsilon/2 · ρ) from each point to every word, the largest being 1."""
        weights = self.away_singly(points)
        weights -= weights.min(axis=1, keepdims=True)
        weights *= -0.5 * self.epsilon
        return np.exp(weights, out=weights)

    def weights(self, points: NDArray[np.intp], words: slice) -> NDArray[np.float64]:
        """What is proportional to the probability of some words, one row per point."""
        found = self.away(points, words)
        found *= -0.5 * self.epsilon
        np.exp(found, out=found)
        # A word has weight 1 in its own row; the unknown point has no word that near.
        unknown = points == self.space.unknown
        if unknown.any():
            found[unknown] = self._weights_of_unknown[words]
        return found

    def block_sums(self, points: NDArray[np.intp], size: int) -> NDArray[np.float64]:
        """Sums of the weights of blocks of words, one row per point."""
        return sums_of_blocks(self, points, size)

    @cached_property
    def _weights_of_unknown(self) -> NDArray[np.float64]:
        logs = self.log_row(self.space.unknown)
        weights: NDArray[np.float64] = np.exp(logs - logs.max())
        return weights


def log_normalized(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-probabilities proportional to exp(score) in each row; the scores are overwritten."""
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def distances(
    space: Space, points: NDArray[np.intp], words: slice = EVERY_WORD
) -> NDArray[np.float64]:
    """Euclidean distance from each point (one per row) to each of the words (one per column).

    Two words at one place have distance 0 exactly; all others are right to about 1e-13 of the
    size of the space.
    """
    # From the centroid, where the point of unknown words is, numbers are smallest.
    unknown = points == space.unknown
    here = extend(space.vectors[np.where(unknown, 0, points)], space.centroid)
    if unknown.any():
        here[unknown] = extend(space.centroid[None], space.centroid)
    first, last, _ = words.indices(len(space))
    parts = [
        squared_distances(
            here, extend(space.vectors[start : min(start + WORDS, last)], space.centroid)
        )
        for start in range(first, last, WORDS)
    ]
    found = parts[0] if len(parts) == 1 else np.hstack(parts)
    return np.sqrt(found, out=found)


def single_distances(space: Space, points: Points) -> Singles:
    """Euclidean distance from each point to every word, in single precision; 0 to itself."""
    found = space.search.distances(space.at(points))
    known = np.flatnonzero(points < space.unknown)
    found[known, points[known]] = 0
    return found
