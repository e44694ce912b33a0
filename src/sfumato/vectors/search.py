"""The nearest word to a vector, or the two nearest, for many vectors at once.

Why it is private
    The search is given noisy vectors and public ones, never the word the noise was added to, so
    it is post-processing: how it searches changes usefulness and speed, never the guarantee.

How it is fast
    argmin |q − w|² = argmax ⟨q, w⟩ − ½|w|². The second term rides along as one more coordinate,
    so a block of queries against a block of words is one matrix product followed by one argmax
    over scores that are still in the cache. The distances of the two nearest words are then taken
    from differences in float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Queries share the work of packing a block of words, so many go together; a block of words is kept
# narrow enough that its scores (16 MB at most) need not go to main memory and back.
QUERIES = 1024
WORDS = 4096


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
            # In float32 the two may have changed places; of equal ones the first in public order
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
