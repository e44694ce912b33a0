"""Accurate squared distances between many vectors, and all words within a radius.

|x − y|² = ⟨(x, 1, |x|²), (−2y, |y|², 1)⟩ is one matrix product, but digits cancel when x and y are
close, so the squares of close pairs are computed from differences. Equal vectors then have distance
exactly 0, and all other squares have a relative error of about 1e-14, provided that the origin lies
among the vectors.

``words_within`` finds all words within a distance of given points. A product in float32 is twice as
fast as one in float64, and its error has a known bound. Words farther away than the radius plus
that bound are excluded; all others are measured again, by differences in float64. So the words
found, and their distances, do not depend on how the product was rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.vectors.space import Space

# Below this share of the first vector's squared length, a squared distance is computed from
# differences; above it, a product loses at most two of its sixteen digits.
CLOSE = 0.025
# Numbers held at once when differences are taken (32 MB).
CELLS = 1 << 22
# Rows and columns of a product are padded to multiples of these. A product with few numbers on one
# side is computed in panels of ``ROWS`` rows, which are too small to be split among threads: those
# would wait for each other longer than they work.
ROWS, COLUMNS = 16, 8
FEW = 1 << 15


def extend(vectors: NDArray[np.floating], origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """(x, 1, |x|²) for each vector, x being the vector seen from the origin."""
    longer = np.empty((len(vectors), vectors.shape[1] + 2))
    x = longer[:, :-2]
    np.subtract(vectors, origin, out=x)
    longer[:, -2] = 1.0
    np.einsum("nd,nd->n", x, x, out=longer[:, -1])
    return longer


def squared_distances(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """|x − y|² for each x of ``here`` (one per row) and each y of ``there`` (one per column).

    Both are results of ``extend`` with the same origin.
    """
    other = there * -2.0
    other[:, -2], other[:, -1] = there[:, -1], 1.0
    squares = product(here, other)
    close = np.flatnonzero(squares <= CLOSE * here[:, -1:])
    step = max(1, CELLS // here.shape[1])
    for start in range(0, len(close), step):
        rows, columns = np.divmod(close[start : start + step], len(there))
        differences = here[rows, :-2] - there[columns, :-2]
        squares[rows, columns] = np.einsum("nd,nd->n", differences, differences)
    return squares


def product(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """⟨x, y⟩ for each x of ``left`` and y of ``right``, the same whatever other rows there are.

    Libraries choose the order of summation by the shape of a product, and treat its edges
    separately, so the last digit of a number can depend on how many rows there are. After padding
    to round sizes a product has no edges, and a small one always has the same shape.
    """
    table = _fill(right, -(-len(right) // COLUMNS) * COLUMNS).T
    panel = ROWS if table.size <= FEW else max(1, -(-len(left) // ROWS)) * ROWS
    whole = len(left) // panel * panel
    found = np.empty((len(left), table.shape[1]))
    if whole:
        panels = left[:whole].reshape(-1, panel, left.shape[1])
        np.matmul(panels, table, out=found[:whole].reshape(-1, panel, table.shape[1]))
    if whole < len(left):
        found[whole:] = (_fill(left[whole:], panel) @ table)[: len(left) - whole]
    return found[:, : len(right)]


def _fill(rows: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    if len(rows) == count:
        return rows
    filled = np.zeros((count, rows.shape[1]))
    filled[: len(rows)] = rows
    return filled


# Words compared with all points at once, and numbers held at once when differences are taken.
WORDS = 2048
# One percent more than the sum of single rounding errors, for products of such errors.
MARGIN = 1.01


@dataclass(frozen=True)
class Near:
    """Pairs of a point, by its place among the points, and a word, with their distance.

    A point that is ``crowded``, with too many words around it, has no pairs.
    """

    places: NDArray[np.intp]
    words: NDArray[np.intp]
    distances: NDArray[np.float64]
    crowded: NDArray[np.bool_]


def words_within(space: Space, points: NDArray[np.intp], radius: float, most: int) -> Near:
    """Every word no farther than ``radius`` from a point, if there are not more than ``most``."""
    here = space.at(points) - space.centroid
    counts, found = np.zeros(len(points), dtype=np.intp), []
    for start in range(0, len(space), WORDS):
        there = space.vectors[start : start + WORDS] - space.centroid
        places, words = _perhaps_within(here, there, radius)
        counts += np.bincount(places, minlength=len(points))
        few = counts[places] <= most
        found.append((places[few], words[few] + start))
    places, words = (np.concatenate(side) for side in zip(*found, strict=True))
    few = counts[places] <= most
    places, words = places[few], words[few]
    distances = _measure(space, points[places], words)
    near = distances <= radius
    return Near(places[near], words[near], distances[near], counts > most)


def _perhaps_within(
    here: NDArray[np.float64], there: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs within the radius and few others.

    |x − y| <= r means s(x, y) = ⟨x, y⟩ − |y|²/2 >= (|x|² − r²)/2. Rounded to float32 and summed
    there in any order, s is off by no more than (d + 5)·2⁻²⁴·(|x||y| + |y|²/2), to first order.
    """
    lengths, others = (np.einsum("nd,nd->n", side, side) for side in (here, there))
    longest = others.max()
    off = MARGIN * (here.shape[1] + 5) * 2.0**-24 * (np.sqrt(lengths * longest) + longest / 2)
    bounds = ((lengths - radius**2) / 2 - off).astype(np.float32)
    left = np.column_stack([here, np.ones(len(here))]).astype(np.float32)
    right = np.column_stack([there, -0.5 * others]).astype(np.float32)
    scores = left @ right.T
    # The bound was rounded as well.
    candidates = np.flatnonzero(scores >= np.nextafter(bounds, -np.float32(np.inf))[:, None])
    return np.divmod(candidates, len(there))


def _measure(
    space: Space, points: NDArray[np.intp], words: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The distance of each pair, computed from differences."""
    distances = np.empty(len(points))
    step = max(1, CELLS // space.dimension)
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        differences = space.at(points[block]) - space.vectors[words[block]]
        np.sqrt(np.einsum("nd,nd->n", differences, differences), out=distances[block])
    return distances
