"""How alone a word stands in a public space.

Words in sparse regions keep their place long after typical words have lost it. Which words those
are follows from public vectors alone, so they can be looked for among all words before any noise
is drawn; what a mechanism does to them is then measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.vectors.space import Space

# Neighbours are counted among an evenly spaced part of the vocabulary: the ten nearest of one word
# in ten tell how dense a region is, at a tenth of the price.
LANDMARKS = 6000
NEIGHBOURS = 10
BLOCK = 512

Floats = NDArray[np.float64]
Points = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The nearest other word, and how far it is."""

    word: str
    distance: float


def nearest_neighbour(space: Space, point: int) -> Neighbour:
    """The nearest other word of the vocabulary."""
    distances = space.distances_from(point)
    distances[point] = np.inf
    nearest = int(distances.argmin())
    return Neighbour(space.words[nearest], float(distances[nearest]))


def most_isolated(space: Space, points: Points, count: int) -> Points:
    """Those of the points whose surroundings are emptiest, the emptiest first."""
    order = np.argsort(-surroundings(space, points), kind="stable")
    return points[order[:count]]


def surroundings(space: Space, points: Points) -> Floats:
    """Mean distance to the nearest landmarks, for each point."""
    landmarks = np.arange(0, len(space), max(1, len(space) // LANDMARKS))
    places = space.at(landmarks) - space.centroid
    lengths = np.einsum("nd,nd->n", places, places)
    near = min(NEIGHBOURS, len(landmarks) - 1)
    found = np.empty(len(points))
    for start in range(0, len(points), BLOCK):
        block = points[start : start + BLOCK]
        here = space.at(block) - space.centroid
        squares = lengths - 2.0 * (here @ places.T)
        squares += np.einsum("nd,nd->n", here, here)[:, None]
        squares[block[:, None] == landmarks] = np.inf  # a word is no neighbour of its own
        nearest = np.partition(squares, near - 1, axis=1)[:, :near]
        found[start : start + BLOCK] = np.sqrt(np.maximum(nearest, 0.0)).mean(axis=1)
    return found
