"""Approximate searches that were tried. Both see noisy vectors and public ones, nothing else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.vectors.search import NearestSearch

CLUSTERS = 64
ROUNDS = 8
FIRST = 8
TILES = 32
CANDIDATES = 16

Floats = NDArray[np.float32]


class ClusteredSearch(NearestSearch):
    """Reads only clusters of words that could still win.

    The score of a word is its cluster's mean score plus a deviation, whose size is known from the
    spread of the cluster and the length of the query. The ``FIRST`` best clusters are read; then
    those where a word ``reach`` standard deviations above the mean would beat the best so far.
    """

    def __init__(self, vectors: Floats, reach: float) -> None:
        cluster = _clustered(vectors)
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
        """Index of a word near each row."""
        return self._order[super().nearest(queries)]

    def _nearest(self, queries: Floats, scores: Floats) -> NDArray[np.intp]:  # noqa: ARG002
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
        self, wanted: NDArray[np.bool_], queries: Floats, found: NDArray[np.intp], best: Floats
    ) -> None:
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


class LeadingDimensions(NearestSearch):
    """Scores the leading principal components; the best words of many tiles are ranked exactly."""

    def __init__(self, vectors: Floats, kept: int) -> None:
        centred = vectors - vectors.mean(axis=0, dtype=np.float64)
        # Frequent words are alike and stand side by side: dealt out, they share no tile.
        self._order = np.argsort(np.arange(len(vectors)) % TILES, kind="stable")
        self._axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
        super().__init__((centred @ self._axes)[self._order].astype(np.float32))
        self._shift = vectors.mean(axis=0, dtype=np.float64)
        self._kept = kept
        self._leading = np.concatenate([self._table[:kept], self._table[-1:]])
        self._rest = np.ascontiguousarray(self._table[kept:-1].T)

    def nearest(self, queries: NDArray[np.float64]) -> NDArray[np.intp]:
        """Index of a word near each row."""
        return self._order[super().nearest((queries - self._shift) @ self._axes)]

    def _nearest(self, queries: Floats, scores: Floats) -> NDArray[np.intp]:  # noqa: ARG002
        leading = np.concatenate([queries[:, : self._kept], queries[:, -1:]], axis=1)
        rows = np.arange(len(queries))
        places = np.empty((len(queries), TILES), dtype=np.intp)
        values = np.empty((len(queries), TILES), dtype=np.float32)
        edges = np.arange(TILES + 1) * self._table.shape[1] // TILES
        for tile, (start, end) in enumerate(pairwise(edges)):
            product = leading @ self._leading[:, start:end]
            local = product.argmax(axis=1)
            places[:, tile], values[:, tile] = local + start, product[rows, local]
        best = np.argpartition(-values, CANDIDATES - 1, axis=1)[:, :CANDIDATES]
        candidates = np.take_along_axis(places, best, axis=1)
        rest = np.einsum("nkd,nd->nk", self._rest[candidates], queries[:, self._kept : -1])
        exact = np.take_along_axis(values, best, axis=1) + rest
        chosen: NDArray[np.intp] = candidates[rows, exact.argmax(axis=1)]
        return chosen


def _clustered(vectors: Floats) -> NDArray[np.intp]:
    """Lloyd's algorithm from evenly spaced words; clusters are numbered without gaps."""
    places = vectors.astype(np.float64)
    centres = places[np.arange(CLUSTERS) * len(vectors) // CLUSTERS]
    cluster = np.zeros(len(vectors), dtype=np.intp)
    for _ in range(ROUNDS):
        cluster = NearestSearch(centres.astype(np.float32)).nearest(places)
        order = np.argsort(cluster, kind="stable")
        present, starts = np.unique(cluster[order], return_index=True)
        sizes = np.diff(starts, append=len(order))
        centres = np.add.reduceat(places[order], starts, axis=0) / sizes[:, None]
        cluster = np.searchsorted(present, cluster)
    return cluster
