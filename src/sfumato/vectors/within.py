"""All words within some distance of given points, found by a rough product and decided exactly.

A product in float32 is twice as fast as one in float64 and right to a margin that can be stated.
What it puts farther away than the radius and the margin is farther away. All else is measured
again, by differences in float64: so the words found, and their distances, do not depend on how
the product rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.vectors.space import Space

# Words compared with all points at once, and numbers held at once when differences are taken.
WORDS = 2048
CELLS = 1 << 22
# A per cent more than single roundings add up to, for the products of such errors.
MARGIN = 1.01


@dataclass(frozen=True)
class Near:
    """Pairs of a point, by its place among the points, and a word, with their distance.

    Of a point that is ``crowded``, with too many words around it, there are no pairs.
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
    distances = _measured(space, points[places], words)
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
    # The bound was rounded too.
    candidates = np.flatnonzero(scores >= np.nextafter(bounds, -np.float32(np.inf))[:, None])
    return np.divmod(candidates, len(there))


def _measured(
    space: Space, points: NDArray[np.intp], words: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The distance of each pair, from differences."""
    distances = np.empty(len(points))
    step = max(1, CELLS // space.dimension)
    for start in range(0, len(points), step):
        block = slice(start, start + step)
        differences = space.at(points[block]) - space.vectors[words[block]]
        np.sqrt(np.einsum("nd,nd->n", differences, differences), out=distances[block])
    return distances
