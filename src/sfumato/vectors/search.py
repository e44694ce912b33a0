"""Search for the nearest word, or the two nearest, to each of many vectors.

Why it is private
    The search sees noisy vectors and public ones, never the word the noise was added to, so it is
    post-processing. An approximate search affects usefulness, never the guarantee.

How it is fast
    argmin |q − w|² = argmax ⟨q, w⟩ − ½|w|². The second term is one more coordinate, so a block of
    queries against a block of words is one matrix product followed by one argmax over scores that
    are still in the cache. ``NearestTwo`` then computes the two distances from differences in
    float64.

How the approximate search works
    ``ClusteredSearch`` reads only part of the vocabulary. Words are put into clusters once, by
    their public vectors. The score of a word is the mean score of its cluster plus a deviation,
    whose size follows from the spread of the cluster and the length of the query. The best few
    clusters are read first; then those in which a word ``REACH`` standard deviations above the mean
    would still win. ``python -m benchmarks approximate`` prints its speed and its agreement with
    the exact search; ``docs/speed.md`` has figures. At very low levels, where the output is mostly
    noise, it agrees less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Singles

# Many queries share the cost of packing a block of words. A block of words is narrow enough that
# its scores (16 MB at most) stay in the cache.
QUERIES = 1024
WORDS = 4096

# The approximate search: standard deviations, clusters, rounds of clustering, clusters read first.
REACH = 4.5
CLUSTERS = 64
ROUNDS = 8
FIRST = 8


class NearestSearch:
    """Exact search by blocked matrix products (exact up to the rounding of float32)."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        words, dimension = vectors.shape
        # Scores compare words with each other, so moving the origin changes none of them; at the
        # centroid the numbers are smallest and float32 keeps the most digits.
        self._origin = vectors.mean(axis=0, dtype=np.float64)
        self._table = np.empty((dimension + 1, words), dtype=np.float32)
        for start in range(0, words, WORDS):
            block = vectors[start : start + WORDS]
            self._table[:dimension, start : start + WORDS] = (block - self._origin).T
        np.einsum("dn,dn->n", self._table[:-1], self._table[:-1], out=self._table[-1])
        self._table[-1] *= -0.5

    def nearest(self, queries: NDArray[np.float64]) -> NDArray[np.intp]:
        """Index of the nearest word to each row."""
        found = np.empty(len(queries), dtype=np.intp)
        width = min(WORDS, self._table.shape[1])
        scores = np.empty(min(QUERIES, len(queries)) * width, dtype=np.float32)
        for start in range(0, len(queries), QUERIES):
            block = slice(start, start + QUERIES)
            found[block] = self._nearest(self._extended(queries[block]), scores)
        return found

    def distances(self, queries: NDArray[np.float64], first: int | None = None) -> Singles:
        """Distance from each row to every word, or to the first words, in their order.

        In single precision: near a word, its distance is right to about a thousandth only.
        """
        extended = self._extended(queries)
        found: Singles = extended @ self._table[:, :first]
        found *= -2
        found += np.square(extended[:, :-1]).sum(axis=1, keepdims=True)
        np.maximum(found, 0, out=found)
        return np.sqrt(found, out=found)

    def _extended(self, queries: NDArray[np.float64]) -> NDArray[np.float32]:
        extended = np.ones((len(queries), len(self._table)), dtype=np.float32)
        extended[:, :-1] = queries - self._origin
        return extended

    def _nearest(
        self, queries: NDArray[np.float32], scores: NDArray[np.float32]
    ) -> NDArray[np.intp]:
        rows = np.arange(len(queries))
        winner = np.zeros(len(queries), dtype=np.intp)
        best = np.full(len(queries), -np.inf, dtype=np.float32)
        for start in range(0, self._table.shape[1], WORDS):
            words = self._table[:, start : start + WORDS]
            width = words.shape[1]
            tile = scores[: len(queries) * width].reshape(len(queries), width)
            np.matmul(queries, words, out=tile)
            local = tile.argmax(axis=1)
            value = tile[rows, local]
            better = value > best
            best[better] = value[better]
            winner[better] = local[better] + start
        return winner


class ClusteredSearch(NearestSearch):
    """Approximate search that reads only the clusters that could still hold the nearest word."""

    def __init__(self, vectors: Singles, reach: float = REACH) -> None:
        cluster = _cluster(vectors)
        self._order = np.argsort(cluster, kind="stable")
        super().__init__(vectors[self._order])
        sizes = np.bincount(cluster)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._means = np.add.reduceat(self._table, self._starts, axis=1) / sizes
        deviations = np.square(self._table - np.repeat(self._means, sizes, axis=1))
        variances = np.add.reduceat(deviations, self._starts, axis=1) / sizes
        self._variance, self._variance_of_lengths = variances[:-1].mean(axis=0), variances[-1]
        self._reach = reach

    def nearest(self, queries: NDArray[np.float64]) -> NDArray[np.intp]:
        """Index of a word near each row, almost always the nearest."""
        return self._order[super().nearest(queries)]

    def distances(self, queries: NDArray[np.float64], first: int | None = None) -> Singles:
        """Distance from each row to every word, or to the first words, in their order."""
        found = np.empty((len(queries), len(self._order)), dtype=np.float32)
        found[:, self._order] = super().distances(queries)
        return found[:, :first]

    def _nearest(self, queries: Singles, scores: Singles) -> NDArray[np.intp]:  # noqa: ARG002
        means = queries @ self._means
        found = np.zeros(len(queries), dtype=np.intp)
        best = np.full(len(queries), -np.inf, dtype=np.float32)
        place = max(0, means.shape[1] - FIRST)
        first = means >= np.partition(means, place, axis=1)[:, place : place + 1]
        self._read(first, queries, found, best)
        lengths = np.square(queries[:, :-1]).sum(axis=1, keepdims=True)
        reach = self._reach * np.sqrt(lengths * self._variance + self._variance_of_lengths)
        self._read((means + reach > best[:, None]) & ~first, queries, found, best)
        return found

    def _read(
        self, wanted: NDArray[np.bool_], queries: Singles, found: NDArray[np.intp], best: Singles
    ) -> None:
        """Compare the wanted clusters of each query with the best word so far."""
        for cluster, column in enumerate(np.ascontiguousarray(wanted.T)):
            rows = np.flatnonzero(column)
            if len(rows) == 0:
                continue
            start = self._starts[cluster]
            tile = queries[rows] @ self._table[:, start : self._ends[cluster]]
            local = tile.argmax(axis=1)
            value = tile[np.arange(len(rows)), local]
            better = value > best[rows]
            best[rows[better]] = value[better]
            found[rows[better]] = local[better] + start


def _cluster(vectors: Singles) -> NDArray[np.intp]:
    """Lloyd's algorithm from evenly spaced words; clusters are numbered without gaps."""
    places = vectors.astype(np.float64)
    count = min(CLUSTERS, len(vectors))
    centers = places[np.arange(count) * len(vectors) // count]
    cluster = np.zeros(len(vectors), dtype=np.intp)
    for _ in range(ROUNDS):
        cluster = NearestSearch(centers.astype(np.float32)).nearest(places)
        order = np.argsort(cluster, kind="stable")
        present, starts = np.unique(cluster[order], return_index=True)
        sizes = np.diff(starts, append=len(order))
        centers = np.add.reduceat(places[order], starts, axis=0) / sizes[:, None]
        cluster = np.searchsorted(present, cluster)
    return cluster


class NearestTwo:
    """Search by blocked matrix products (exact up to the rounding of float32)."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors
        # Scores compare words with each other, so moving the origin changes none of them; at the
        # centroid the numbers are smallest and float32 keeps the most digits.
        self._origin = vectors.mean(axis=0, dtype=np.float64)
        self._table = np.empty((vectors.shape[1] + 1, len(vectors)), dtype=np.float32)
        for start in range(0, len(vectors), WORDS):
            block = vectors[start : start + WORDS]
            self._table[:-1, start : start + WORDS] = (block - self._origin).T
        np.einsum("dn,dn->n", self._table[:-1], self._table[:-1], out=self._table[-1])
        self._table[-1] *= -0.5

    def find(self, queries: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The two nearest words to each row, nearest first, and their distances."""
        words = np.empty((len(queries), 2), dtype=np.intp)
        distances = np.empty((len(queries), 2), dtype=np.float64)
        for start in range(0, len(queries), QUERIES):
            block = queries[start : start + QUERIES]
            found = self._candidates(block)
            steps = self._vectors[found] - block[:, None, :]
            away = np.sqrt(np.einsum("nkd,nkd->nk", steps, steps))
            # In float32 the order of the two may be wrong; of equal ones the first in public order
            # leads.
            order = np.lexsort((found, away), axis=1)
            words[start : start + QUERIES] = np.take_along_axis(found, order, axis=1)
            distances[start : start + QUERIES] = np.take_along_axis(away, order, axis=1)
        return words, distances

    def _candidates(self, queries: NDArray[np.float64]) -> NDArray[np.intp]:
        extended = np.ones((len(queries), len(self._table)), dtype=np.float32)
        extended[:, :-1] = queries - self._origin
        rows = np.arange(len(queries))
        words = np.zeros((len(queries), 0), dtype=np.intp)
        scores = np.zeros((len(queries), 0), dtype=np.float32)
        for start in range(0, self._table.shape[1], WORDS):
            tile = extended @ self._table[:, start : start + WORDS]
            for _ in range(min(2, tile.shape[1])):
                local = tile.argmax(axis=1)
                words = np.column_stack([words, local + start])
                scores = np.column_stack([scores, tile[rows, local]])
                tile[rows, local] = -np.inf
            best = (-scores).argsort(axis=1, kind="stable")[:, :2]
            words = np.take_along_axis(words, best, axis=1)
            scores = np.take_along_axis(scores, best, axis=1)
        return words
