"""A faster search that sometimes misses: only clusters of words that could still win are read.

Why it is private
    Like the exact search it is given noisy vectors and public ones. Which clusters are read is
    decided by the noisy vector alone, never by the word the noise was added to, so this too is
    post-processing: it costs a little usefulness and no privacy.

How it is fast
    The public words are clustered once. The score of a word (see ``search``) is the mean score
    of its cluster plus a deviation, whose standard deviation over the cluster is known well
    enough from the cluster's spread and the length of the query. The few clusters with the best
    means are read first; another one is read only if a word ``REACH`` standard deviations above
    its mean would beat the best word so far.

How much it misses
    Noise is longest where privacy is strongest, and long noise makes far clusters win: then more
    of them are read, and more is missed. ``python -m benchmarks approximate`` measures both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.vectors.search import NearestSearch

WORDS_PER_CLUSTER = 256
MOST_CLUSTERS = 128
ROUNDS = 8
FIRST = 8
REACH = 5.0


class ClusteredSearch(NearestSearch):
    """Approximate search: exact within the clusters that are read."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        cluster = clustered(vectors)
        # Stable, so that of words at one place the first stays the first.
        self._order = np.argsort(cluster, kind="stable")
        super().__init__(vectors[self._order])
        sizes = np.bincount(cluster)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        self._means = np.add.reduceat(self._table, self._starts, axis=1) / sizes
        deviations = np.square(self._table - np.repeat(self._means, sizes, axis=1))
        variances = np.add.reduceat(deviations, self._starts, axis=1) / sizes
        self._spread = variances[:-1].mean(axis=0)
        self._spread_of_lengths = variances[-1]

    def nearest(self, queries: NDArray[np.float64]) -> NDArray[np.intp]:
        """Index of a word near each row, nearly always the nearest."""
        return self._order[super().nearest(queries)]

    def _nearest(
        self, queries: NDArray[np.float32], scores: NDArray[np.float32]
    ) -> NDArray[np.intp]:
        means = queries @ self._means
        winner = np.zeros(len(queries), dtype=np.intp)
        best = np.full(len(queries), -np.inf, dtype=np.float32)
        first = _largest(means, FIRST)
        self._read(first, queries, winner, best)
        lengths = np.square(queries[:, :-1]).sum(axis=1, keepdims=True)
        reach = REACH * np.sqrt(lengths * self._spread + self._spread_of_lengths)
        self._read((means + reach > best[:, None]) & ~first, queries, winner, best)
        return winner

    def _read(
        self,
        wanted: NDArray[np.bool_],
        queries: NDArray[np.float32],
        winner: NDArray[np.intp],
        best: NDArray[np.float32],
    ) -> None:
        """Compare queries with all words of the clusters that each of them wants."""
        for cluster, column in enumerate(np.ascontiguousarray(wanted.T)):
            rows = np.flatnonzero(column)
            if len(rows) == 0:
                continue
            start = self._starts[cluster]
            tile = queries[rows] @ self._table[:, start : self._ends[cluster]]
            local = tile.argmax(axis=1)
            value = tile[np.arange(len(rows)), local]
            better = value > best[rows]
            changed = rows[better]
            best[changed] = value[better]
            winner[changed] = local[better] + start


def clustered(vectors: NDArray[np.float32]) -> NDArray[np.intp]:
    """The cluster of each public word: Lloyd's algorithm from evenly spaced words.

    No chance is involved, so a space is always clustered in the same way. Clusters are numbered
    without gaps.
    """
    count = max(1, min(MOST_CLUSTERS, len(vectors) // WORDS_PER_CLUSTER))
    centres = vectors[np.arange(count) * len(vectors) // count].astype(np.float64)
    places = vectors.astype(np.float64)
    nearest = np.zeros(len(vectors), dtype=np.intp)
    for _ in range(ROUNDS):
        nearest = NearestSearch(centres.astype(np.float32)).nearest(places)
        order = np.argsort(nearest, kind="stable")
        present, starts = np.unique(nearest[order], return_index=True)
        sizes = np.diff(starts, append=len(order))
        centres = np.add.reduceat(places[order], starts, axis=0) / sizes[:, None]
        nearest = np.searchsorted(present, nearest)
    return nearest


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.bool_]:
    """Which values are among the ``count`` largest of their row (more of them, if equal)."""
    place = max(0, values.shape[1] - count)
    return values >= np.partition(values, place, axis=1)[:, place : place + 1]
