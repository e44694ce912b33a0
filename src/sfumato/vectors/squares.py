"""Squared distances between many vectors and many others, right to the last digits.

|x − y|² = ⟨(x, 1, |x|²), (−2y, |y|², 1)⟩ is one matrix product, but its digits cancel when x and
y are close: those few squares are taken from the differences. So two vectors at one place have
distance 0 exactly, and all other squares are right to about 1e-14 of themselves, provided that the
origin lies among the vectors and not far off.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Below this share of the first vector's squared length, a squared distance is taken from
# differences; above it, a product loses two of its sixteen digits at most.
CLOSE = 0.025
# Numbers held at once when differences are taken (32 MB).
CELLS = 1 << 22
# Rows and columns of a product are filled up to multiples of these. A product with few numbers on
# one side is made in panels of so many rows: too small to be shared among threads, which would wait
# for each other longer than they work.
ROWS, COLUMNS = 16, 8
FEW = 1 << 15


def extended(vectors: NDArray[np.floating], origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """(x, 1, |x|²) for each vector, x being the vector seen from the origin."""
    longer = np.empty((len(vectors), vectors.shape[1] + 2))
    x = longer[:, :-2]
    np.subtract(vectors, origin, out=x)
    longer[:, -2] = 1.0
    np.einsum("nd,nd->n", x, x, out=longer[:, -1])
    return longer


def squared_distances(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """|x − y|² for each x of ``here`` (one per row) and each y of ``there`` (one per column).

    Both are ``extended``, from one origin.
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
    """⟨x, y⟩ for each x of ``left`` and each y of ``right``, whatever other rows there are.

    Libraries choose how to add up by the shape of a product, and treat its edges apart: the last
    digit of one number then depends on how many rows stand around it. Filled up to round sizes, a
    product has no edges, and a small one always has the same shape.
    """
    table = _filled(right, -(-len(right) // COLUMNS) * COLUMNS).T
    panel = ROWS if table.size <= FEW else max(1, -(-len(left) // ROWS)) * ROWS
    whole = len(left) // panel * panel
    found = np.empty((len(left), table.shape[1]))
    if whole:
        panels = left[:whole].reshape(-1, panel, left.shape[1])
        np.matmul(panels, table, out=found[:whole].reshape(-1, panel, table.shape[1]))
    if whole < len(left):
        found[whole:] = (_filled(left[whole:], panel) @ table)[: len(left) - whole]
    return found[:, : len(right)]


def _filled(rows: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    if len(rows) == count:
        return rows
    filled = np.zeros((count, rows.shape[1]))
    filled[: len(rows)] = rows
    return filled
