"""Words in the Poincaré ball: hyperbolic space of curvature −1.

The map
    A vector v goes, in its direction from the centroid c, to the hyperbolic distance s·|v − c| from
    the middle of the ball: y = tanh(s·|v − c|/2)·(v − c)/|v − c|. It is the exponential map at the
    origin, and depends on public vectors and a public scale s alone. The centroid, and with it
    every unknown word, is mapped to the middle.

How far apart
    Along straight lines through the middle the map scales lengths by s; across them it stretches by
    sinh(s·ρ)/ρ at the distance ρ from the centroid, which grows with ρ and is no less than s. A
    straight line between two vectors stays within the largest such distance R, so s·|v − w| <=
    d_H(v, w) <= sinh(s·R)/R · |v − w|.

Care
    Near the boundary, coordinates in the ball lose precision, because only 1 − |y|² matters there.
    So a point is stored as its hyperbolic radius r and its direction u, and a point after noise as
    tanh(r)·u, its position in the Klein model: even if it is rounded to the boundary, one can
    search from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Singles
from sfumato.core.errors import InvalidArgument
from sfumato.vectors.distances import extend, squared_distances
from sfumato.vectors.space import Space

# By default, the hyperbolic radius of the root mean square distance from the centroid.
TYPICAL_RADIUS = 2.0
# Up to this radius float64 distinguishes neighbors: precision is lost as exp(2r) grows.
LARGEST_RADIUS = 12.0
WORDS = 2048
# 1 − |k|² of the last place before the boundary that float64 tells from it.
SMALLEST_GAP = 2.0**-52


@dataclass(frozen=True, eq=False)
class Ball:
    """The words of a space and its unknown point, in the ball."""

    space: Space
    scale: float

    @classmethod
    def of(cls, space: Space, scale: float | None = None) -> Ball:
        """With a scale that keeps every word within ``LARGEST_RADIUS``."""
        lengths = _lengths(space)
        longest = float(lengths.max())
        # If all words have the same vector, all distances are 0, whatever the scale.
        most = LARGEST_RADIUS / longest if longest else math.inf
        if scale is None:
            typical = math.sqrt(float(np.square(lengths[:-1]).mean()))
            return cls(space, min(most, TYPICAL_RADIUS / typical) if typical else 1.0)
        if scale > most:
            raise InvalidArgument(
                f"scale={scale:g} must be at most {most:g} for {space.name}: with more, its words "
                "are so close to the boundary of the ball that floats cannot distinguish them"
            )
        return cls(space, scale)

    @cached_property
    def radii(self) -> Floats:
        """Hyperbolic distance of every point from the middle, the unknown one last."""
        return self.scale * _lengths(self.space)

    @property
    def stretch(self) -> float:
        """sinh(s·R)/R: no distance in the ball exceeds the Euclidean one by more than this."""
        radius = float(self.radii.max())
        return self.scale * math.sinh(radius) / radius if radius else self.scale

    def directions(self, points: NDArray[np.intp]) -> Floats:
        """Unit vectors from the middle, and zero for points in the middle."""
        vectors = self.space.at(points) - self.space.centroid
        lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        vectors /= np.where(lengths > 0, lengths, 1.0)[:, None]
        return vectors

    def distances(self, points: NDArray[np.intp], words: slice) -> Floats:
        """d_H from each point (one per row) to each of the words (one per column).

        sinh²(d/2) = sinh²((r − r')/2) + sinh(r)·sinh(r')·|u − u'|²/4 loses no precision, neither
        for near-duplicates nor near the boundary.
        """
        origin = np.zeros(self.space.dimension)
        here = extend(self.directions(points), origin)
        first, last, _ = words.indices(len(self.space))
        found = np.empty((len(points), last - first))
        for start in range(first, last, WORDS):
            block = np.arange(start, min(start + WORDS, last))
            parts = squared_distances(here, extend(self.directions(block), origin))
            parts *= np.sinh(self.radii[points])[:, None]
            parts *= np.sinh(self.radii[block]) / 4
            steps = np.subtract.outer(self.radii[points] / 2, self.radii[block] / 2)
            parts += np.square(np.sinh(steps, out=steps), out=steps)
            np.sqrt(parts, out=parts)
            np.arcsinh(parts, out=found[:, start - first : start - first + len(block)])
        found *= 2
        return found

    def distances_from(self, point: int) -> Floats:
        """d_H from one point to every point, the unknown one last."""
        return np.append(
            self.distances(np.array([point], dtype=np.intp), slice(None)).ravel(),
            self.radii[point],
        )

    def moved(self, points: NDArray[np.intp], directions: Floats, lengths: Floats) -> Floats:
        """Where points end up after a move in the given directions, in the Klein model.

        ``lengths`` holds tanh(r) of the hyperbolic lengths r. This is Möbius addition, x ⊕ z with
        z = tanh(r/2)·u, an isometry that takes the middle of the ball to x: (cosh r, sinh r·u) on
        the hyperboloid, boosted to x and divided by cosh r, so that no length is too long.
        """
        radii, own = self.radii[points], self.directions(points)
        along = lengths * np.einsum("nd,nd->n", own, directions)
        places = lengths[:, None] * directions
        places += (np.sinh(radii) + (np.cosh(radii) - 1) * along)[:, None] * own
        places /= (np.cosh(radii) + np.sinh(radii) * along)[:, None]
        return places

    def distances_from_places(self, places: Floats, first: int | None = None) -> Singles:
        """d_H from each place of the Klein model to every word, or to the first words.

        In single precision. A place that is rounded to the boundary counts as the last before it.
        """
        inside = np.maximum(1.0 - np.einsum("nd,nd->n", places, places), SMALLEST_GAP)
        table = self._single_table[:, :first]
        found: Singles = places.astype(np.float32) @ table[:-1]
        np.subtract(table[-1], found, out=found)
        found /= np.sqrt(inside).astype(np.float32)[:, None]
        np.maximum(found, 1, out=found)
        # arcosh c = ln(c + √(c² − 1)), written out because that is quicker.
        steps = np.square(found)
        steps -= 1
        found += np.sqrt(steps, out=steps)
        return np.log(found, out=found)

    def nearest(self, places: Floats) -> NDArray[np.intp]:
        """The word nearest in d_H to each place of the Klein model.

        cosh d_H = cosh(R)·(cosh r − ⟨k, sinh(r)·u⟩) for a place k = tanh(R)·u', so the nearest word
        has the largest ⟨k, sinh(r)·u⟩ − cosh r: a product of matrices and an argmax.
        """
        winner = np.zeros(len(places), dtype=np.intp)
        best = np.full(len(places), -np.inf)
        for start in range(0, len(self.space), WORDS):
            scores = places @ self._table[:-1, start : start + WORDS]
            scores -= self._table[-1, start : start + WORDS]
            local = scores.argmax(axis=1)
            value = np.take_along_axis(scores, local[:, None], axis=1)[:, 0]
            better = value > best
            best[better] = value[better]
            winner[better] = local[better] + start
        return winner

    @cached_property
    def _single_table(self) -> Singles:
        return self._table.astype(np.float32)

    @cached_property
    def _table(self) -> Floats:
        """sinh(r)·u and cosh r of every word, one column each."""
        table = np.empty((self.space.dimension + 1, len(self.space)))
        for start in range(0, len(self.space), WORDS):
            block = np.arange(start, min(start + WORDS, len(self.space)))
            table[:-1, block] = (np.sinh(self.radii[block])[:, None] * self.directions(block)).T
        table[-1] = np.cosh(self.radii[:-1])
        return table


def _lengths(space: Space) -> Floats:
    """Distance of every point from the centroid, the unknown one last."""
    lengths = np.zeros(len(space) + 1)
    for start in range(0, len(space), WORDS):
        vectors = space.vectors[start : start + WORDS] - space.centroid
        lengths[start : start + len(vectors)] = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    return lengths
