"""Groups of similar words that together make up a public vocabulary.

The rule
    A vocabulary of n words is split into n // size groups whose sizes differ by one at most, so
    that none is smaller than ``size`` (a vocabulary of fewer words is one group). In public order,
    the first word without a group forms one with the nearest words without a group; ties go to the
    first word in public order.

Why it is private
    The groups depend on public words and vectors alone: anyone who has them can compute the same
    groups, and private text cannot change them.

How it is fast
    The first free words are compared with all free words by one matrix product in float32. Where
    rounding could change the order, for words within a margin of the last one taken, differences in
    float64 decide. So the groups do not depend on the size of a product.

Reference
    After the mapping of Chen et al. 2023, "A customized text sanitization mechanism with
    differential privacy"; the order and the sizes are ours, fixed so that there is one answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Words that may start a group, compared with all free words at once; scores held (32 MB).
STARTS = 128
CELLS = 1 << 23


def groups_of_similar(vectors: NDArray[np.float32], size: int) -> NDArray[np.intp]:
    """The number of each word's group; groups are numbered as they are formed.

    >>> on_a_line = np.array([[0.0], [9.0], [1.0], [8.0], [2.0]], dtype=np.float32)
    >>> groups_of_similar(on_a_line, 2).tolist()
    [0, 1, 0, 1, 0]
    """
    count = max(1, len(vectors) // size)
    smaller, larger = divmod(len(vectors), count)
    group = np.empty(len(vectors), dtype=np.intp)
    free = np.arange(len(vectors))
    table = _table(vectors)
    longest = float(table[:, -1].max())
    formed = 0
    while len(free):
        scores = _scores(table)
        margins = _margins(table[: len(scores)], longest)
        taken = np.zeros(len(free), dtype=np.bool_)
        for start, (near, margin) in enumerate(zip(scores, margins, strict=True)):
            if taken[start]:
                continue
            near[taken] = np.inf
            wanted = smaller + (formed < larger)
            last = np.partition(near, wanted - 1)[wanted - 1]
            candidates = np.flatnonzero(near <= last + margin)
            chosen = candidates[_nearest(vectors, free[candidates], free[start])[:wanted]]
            taken[chosen] = True
            group[free[chosen]] = formed
            formed += 1
        free, table = free[~taken], table[~taken]
    return group


def _table(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors relative to the centroid, where float32 keeps most digits, and squared lengths."""
    table = np.empty((len(vectors), vectors.shape[1] + 1), dtype=np.float32)
    # Any origin will do if it is the same for all vectors: then each difference is rounded once.
    np.subtract(
        vectors, vectors.mean(axis=0, dtype=np.float64).astype(np.float32), out=table[:, :-1]
    )
    np.einsum("nd,nd->n", table[:, :-1], table[:, :-1], out=table[:, -1])
    return table


def _scores(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """|y|² − 2⟨x, y⟩ for the first free words x and all free words y: least for the nearest."""
    count = min(STARTS, len(table), max(1, CELLS // len(table)))
    starts = np.ones((count, table.shape[1]), dtype=np.float32)
    starts[:, :-1] = -2 * table[:count, :-1]
    scores: NDArray[np.float32] = starts @ table.T
    return scores


def _margins(starts: NDArray[np.float32], longest: float) -> NDArray[np.float64]:
    """Twice the largest rounding error of a score: no nearest word can be farther behind.

    A score is a sum of ``terms`` products, none greater than (|x| + |y|)², each rounded to the
    precision of float32 or, where it is tiny, to its smallest number.
    """
    kind, terms = np.finfo(np.float32), starts.shape[1] + 4
    reach = np.sqrt(starts[:, -1].astype(np.float64)) + np.sqrt(longest)
    margins: NDArray[np.float64] = 2 * terms * (float(kind.eps) * np.square(reach) + kind.tiny)
    return margins


def _nearest(
    vectors: NDArray[np.float32], words: NDArray[np.intp], start: np.intp
) -> NDArray[np.intp]:
    """Indices into ``words``, nearest first; ties in public order."""
    steps = vectors[words].astype(np.float64) - vectors[start]
    return np.lexsort((words, np.einsum("nd,nd->n", steps, steps)))
