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
    right = np.concatenate([-2.0 * there[:, :-2], there[:, :-3:-1]], axis=1)
    squares: NDArray[np.float64] = here @ right.T
    close = np.flatnonzero(squares <= CLOSE * here[:, -1:])
    step = max(1, CELLS // here.shape[1])
    for start in range(0, len(close), step):
        rows, columns = np.divmod(close[start : start + step], len(there))
        differences = here[rows, :-2] - there[columns, :-2]
        squares[rows, columns] = np.einsum("nd,nd->n", differences, differences)
    return squares
