"""An approximate search that was tried; it sees noisy vectors and public ones, nothing else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.vectors.search import NearestSearch

TILES = 32
CANDIDATES = 16

Floats = NDArray[np.float32]


class LeadingDimensions(NearestSearch):
    """Scores the leading principal components; the best words of many tiles are ranked exactly."""

    def __init__(self, vectors: Floats, kept: int) -> None:
        centered = vectors - vectors.mean(axis=0, dtype=np.float64)
        # Frequent words are alike and stand side by side: dealt out, they share no tile.
        self._order = np.argsort(np.arange(len(vectors)) % TILES, kind="stable")
        self._axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1]
        super().__init__((centered @ self._axes)[self._order].astype(np.float32))
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
