"""Mechanisms whose probabilities can be written down, and how to draw from them.

A row holds, for one input point, the probability of every word of the vocabulary. It depends on
the point and on public vectors alone, so it is built once for each distinct word of a text: the
cost follows the number of different words, not the length. Draws stay independent, one per
occurrence.

Care
    A draw inverts the cumulated row in float64, so an output of probability below about 1e-16 is
    never drawn; the statement holds for the real-valued law that these draws approximate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.vectors.space import Space

# Numbers held at once in a block of rows (32 MB), and words compared with a block at once.
CELLS = 1 << 22
WORDS = 4096
# Below this share of the input's squared length, a squared distance is taken from differences;
# above it, a product loses two of its sixteen digits at most.
CLOSE = 0.025


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
    """A mechanism that is its rows: all else follows from ``log_rows``."""

    space: Space

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

    def privatize(self, points: NDArray[np.intp], randomness: Randomness) -> NDArray[np.intp]:
        """One independent draw per input point; outputs are words of the vocabulary."""
        return draw_from_rows(self, points, randomness)


def draw_from_rows(
    mechanism: RowMechanism, points: NDArray[np.intp], randomness: Randomness
) -> NDArray[np.intp]:
    """One independent draw per point; equal points share a row, never a draw."""
    outputs = np.empty(len(points), dtype=np.intp)
    # Drawn in the order of the text, so what a word becomes under a seed does not depend on how
    # the words around it are grouped.
    draws = randomness.uniform(len(points))
    distinct, group = np.unique(points, return_inverse=True)
    places = np.split(group.argsort(kind="stable"), np.bincount(group).cumsum()[:-1])
    size = max(1, CELLS // len(mechanism.space))
    for start in range(0, len(distinct), size):
        block = slice(start, start + size)
        rows = cumulative_rows(mechanism, distinct[block])
        for cumulative, where in zip(rows, places[block], strict=True):
            # A draw is below 1, so its multiple is below the total and some word lies above it.
            reached = draws[where] * cumulative[-1]
            outputs[where] = cumulative.searchsorted(reached, side="right")
    return outputs


def cumulative_rows(mechanism: RowMechanism, points: NDArray[np.intp]) -> NDArray[np.float64]:
    """Cumulated probabilities, up to one factor per row.

    The only step that builds rows for drawing, and a function of public things and of the points:
    a store of rows for frequent words would stand here.
    """
    rows = mechanism.log_rows(points)
    # The likeliest word gets exp(0) = 1, so no row can underflow to nothing.
    rows -= rows.max(axis=1, keepdims=True)
    np.exp(rows, out=rows)
    return np.cumsum(rows, axis=1, out=rows)


def log_normalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-probabilities proportional to exp(score) in each row; the scores are overwritten."""
    scores -= scores.max(axis=1, keepdims=True)
    scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return scores


def distances(space: Space, points: NDArray[np.intp]) -> NDArray[np.float64]:
    """Euclidean distance from each point (one per row) to every word (one per column).

    |x − y|² = ⟨(−2x, 1, |x|²), (y, |y|², 1)⟩ is one matrix product, but its digits cancel when x
    and y are close: those few distances are taken from the differences. So two words at one place
    have distance 0 exactly, and all others are right to about 1e-13 of the size of the space.
    """
    here = space.at(points) - space.centroid
    lengths = np.einsum("nd,nd->n", here, here)
    left = np.column_stack([-2.0 * here, np.ones(len(here)), lengths])
    found = np.empty((len(points), len(space)), dtype=np.float64)
    for start in range(0, len(space), WORDS):
        there = space.vectors[start : start + WORDS] - space.centroid
        right = [there, np.einsum("nd,nd->n", there, there), np.ones(len(there))]
        squares = found[:, start : start + WORDS]
        np.matmul(left, np.column_stack(right).T, out=squares)
        close = np.nonzero(squares <= CLOSE * lengths[:, None])
        _take_from_differences(squares, close, here, there)
    return np.sqrt(found, out=found)


def _take_from_differences(
    squares: NDArray[np.float64],
    pairs: tuple[NDArray[np.intp], ...],
    here: NDArray[np.float64],
    there: NDArray[np.float64],
) -> None:
    step = max(1, CELLS // here.shape[1])
    for start in range(0, len(pairs[0]), step):
        rows, columns = (places[start : start + step] for places in pairs)
        differences = here[rows] - there[columns]
        squares[rows, columns] = np.einsum("nd,nd->n", differences, differences)
