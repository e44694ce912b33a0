"""Scores by which outputs may tell two inputs apart.

Each is a number for every possible output, learned from some draws or taken from public geometry.
None has to be good: a bad score finds nothing, and no score can refute a true claim.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.audits.events import DrawnSample, Outputs, Score
from sfumato.core.arrays import Floats
from sfumato.vectors.space import Space

Function = Callable[[Outputs], Floats]

# Added to every count, so that an output which occurred once does not rank first.
SMOOTHING = 2.0
BINS = 24
FEWEST_PER_BIN = 8
SINGLE_COORDINATES = 3


InputNames = tuple[str, str]


def word_scores(
    space: Space, places: Floats, names: InputNames, first: DrawnSample, second: DrawnSample
) -> list[Score]:
    """Scores for words: distances to both inputs, the projection on their line, a learned ratio.

    ``places`` holds the vectors of the two inputs. Inputs and outputs are public words.
    """
    step = places[1] - places[0]
    side = f"the place along the line from {names[0]} to {names[1]}"
    return [
        Score(f"the distance to {names[0]}", _distance(space, places[0])),
        Score(f"the distance to {names[1]}", _distance(space, places[1])),
        Score(side, lambda words: _at(space, words) @ step),
        Score("the learned log-ratio", learn_ratio(first, second)),
    ]


def vector_scores(names: InputNames, first: DrawnSample, second: DrawnSample) -> list[Score]:
    """Scores for vectors and bits: single coordinates, extremes, means, boxes, densities."""
    left, right = (np.asarray(sample.outputs, dtype=np.float64) for sample in (first, second))
    step = right.mean(axis=0) - left.mean(axis=0)
    spread = np.concatenate([left, right]).std(axis=0) + np.finfo(np.float64).tiny
    telling = np.argsort(-np.abs(step) / spread)[:SINGLE_COORDINATES].tolist()
    return [
        *(Score(f"coordinate {place + 1}", _coordinate(place)) for place in telling),
        Score("the smallest coordinate", lambda outputs: outputs.min(axis=1)),
        Score("the largest coordinate", lambda outputs: outputs.max(axis=1)),
        Score("the sum of the sizes of coordinates", lambda outputs: np.abs(outputs).sum(axis=1)),
        Score("the place along the difference of means", lambda outputs: outputs @ step),
        Score(f"the way out of the box of draws for {names[0]}", _way_out(left)),
        Score(f"the way out of the box of draws for {names[1]}", _way_out(right)),
        Score("the learned log-ratio of densities", _densities(left, right)),
    ]


def learn_ratio(first: DrawnSample, second: DrawnSample) -> Function:
    """Log-ratio of the frequencies of each point; 0 for a point that was not seen.

    The smoothing is proportional to the size of each sample.
    """
    points = np.union1d(first.outputs, second.outputs)
    totals = np.array([first.total, second.total], dtype=np.float64)
    counts = np.repeat(SMOOTHING * totals[:, None], len(points) + 1, axis=1)
    counts /= max(1.0, totals.min())
    for row, sample in zip(counts, (first, second), strict=True):
        row[np.searchsorted(points, sample.outputs)] += sample.counts
    table = np.log(counts[0] / counts[1]) - np.log(totals[0] / totals[1])

    def ratios(words: Outputs) -> Floats:
        places = np.searchsorted(points, words)
        known = points[np.minimum(places, len(points) - 1)] == words
        return np.where(known, table[places], 0.0)

    return ratios


def _at(space: Space, words: Outputs) -> Floats:
    return space.at(words.astype(np.intp))


def _distance(space: Space, place: Floats) -> Function:
    def lengths(words: Outputs) -> Floats:
        found: Floats = np.linalg.norm(_at(space, words) - place, axis=1)
        return found

    return lengths


def _densities(left: Floats, right: Floats) -> Function:
    """Sum over coordinates of the log-ratio of two histograms, as if coordinates were
    independent. For noise that is independent in each coordinate, and for flipped bits, this is the
    best score.
    """
    edges = [_edges(column) for column in np.concatenate([left, right]).T]
    logs = []
    for ends, *columns in zip(edges, left.T, right.T, strict=True):
        mine, theirs = (
            np.bincount(ends.searchsorted(column), minlength=len(ends) + 1) + SMOOTHING
            for column in columns
        )
        logs.append(np.log(mine / theirs))

    def ratios(outputs: Outputs) -> Floats:
        total = np.zeros(len(outputs))
        for ends, ratio, column in zip(edges, logs, outputs.T, strict=True):
            total += ratio[ends.searchsorted(column)]
        return total

    return ratios


def _edges(column: Floats) -> Floats:
    """Ends of bins: one after each value if there are few values, else at quantiles."""
    distinct = np.unique(column)
    bins = max(2, min(BINS, len(column) // (2 * FEWEST_PER_BIN)))
    if len(distinct) <= bins:
        return distinct[:-1]
    return np.unique(np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1]))


def _way_out(draws: Floats) -> Function:
    """Distance of outputs from the box around some draws: finds limits that noise never passes."""
    low, high = draws.min(axis=0), draws.max(axis=0)

    def farthest(outputs: Outputs) -> Floats:
        way: Floats = np.maximum(outputs - high, low - outputs).max(axis=1)
        return way

    return farthest


def _coordinate(place: int) -> Function:
    return lambda outputs: np.asarray(outputs[:, place], dtype=np.float64)
