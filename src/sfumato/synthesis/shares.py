"""How many texts each label gets: a total, divided by public or noisy weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def divide(total: int, weights: Sequence[float]) -> list[int]:
    """A whole number divided in proportion to weights; equally, if none is above 0.

    What is left after rounding down goes to the largest remainders, of equal ones to the first.

    >>> divide(7, [1, 1, 2]), divide(3, [0, -2])
    ([2, 2, 3], [2, 1])
    """
    above = np.maximum(np.asarray(weights, dtype=float), 0.0)
    if not above.any():
        above = np.ones(len(above))
    exact = total * above / above.sum()
    found = np.floor(exact).astype(int)
    for place in np.argsort(found - exact, kind="stable")[: total - found.sum()]:
        found[place] += 1
    return [int(one) for one in found]
