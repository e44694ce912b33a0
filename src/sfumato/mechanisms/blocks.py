"""Drawing in blocks: memory follows the block, not the text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

BLOCK = 4096

Points = NDArray[np.intp]


def in_blocks(points: Points, draw: Callable[[Points], Points]) -> Points:
    """Draw for a block of points at a time; each call of ``draw`` brings noise of its own."""
    outputs = np.empty(len(points), dtype=np.intp)
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        outputs[block] = draw(points[block])
    return outputs
