"""An approximate search for the nearest word that reads only part of the vocabulary.

Why it is private
    Like the exact search it is given noisy vectors and public ones, never the word the noise was
    added to: a worse search costs usefulness, never the guarantee.

How it works
    Words are put into clusters once, by public vectors alone. The score of a word is its cluster's
    mean score plus a deviation whose size follows from the spread of the cluster and the length of
    the query. The best few clusters are read; then those in which a word ``REACH`` standard
    deviations above the mean would still win.

How good it is
    ``python -m benchmarks approximate`` prints its speed beside its agreement with the exact
    search; ``docs/speed.md`` has figures. At very low levels, where the output is noise anyway,
    it agrees less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Singles
from sfumato.vectors.search import NearestSearch

REACH = 4.5
CLUSTERS = 64
ROUNDS = 8
FIRST = 8


class ClusteredSearch(NearestSearch):
    """Reads only the clusters of words that could still win."""

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
