"""Draws from rows: the inverse of the cumulated row, for many words at once.

A draw is a number u in [0, 1); it becomes the first word at which the cumulated row exceeds u times
its total. That is all a draw depends on: not on the words around it, on how they are grouped, nor
on which rows were built before. Rows are built once for each distinct word, kept in a store as far
as there is room, and searched for all words together.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.blockwise import PartwiseRows, inverted_by_blocks
from sfumato.mechanisms.store import RowStore
from sfumato.mechanisms.tables import Build, Numbers, Points, Search, tables

if TYPE_CHECKING:
    from sfumato.mechanisms.rows import RowMechanism

# Words drawn for at once, and numbers held at once in a block of rows (32 MB).
AT_ONCE = 1 << 20
CELLS = 1 << 22


def draw_from_rows(
    mechanism: RowMechanism, points: Points, randomness: Randomness, store: RowStore | None = None
) -> Points:
    """One independent draw per point; equal points share a row, never a draw."""
    outputs = np.empty(len(points), dtype=np.intp)
    for start in range(0, len(points), AT_ONCE):
        some = points[start : start + AT_ONCE]
        # Drawn in the order of the text, so what a word becomes under a seed does not depend on
        # how the words around it are grouped.
        draws = randomness.uniform(len(some))
        outputs[start : start + AT_ONCE] = inverted(mechanism, some, draws, store)
    return outputs


def inverted(
    mechanism: RowMechanism, points: Points, draws: Numbers, store: RowStore | None = None
) -> Points:
    """The word that each number in [0, 1) stands for in the row of its point."""
    if isinstance(mechanism, PartwiseRows):
        return inverted_by_blocks(mechanism, points, draws, store)
    return _columns(partial(_whole_rows, mechanism), len(mechanism.space), points, draws, store)


def draw_columns(rows: Build, width: int, points: Points, randomness: Randomness) -> Points:
    """For each point a column, drawn from the cumulated row of ``width`` numbers that it has."""
    return _columns(rows, width, points, randomness.uniform(len(points)), None)


def cumulated(logs: Numbers) -> Numbers:
    """Cumulated probabilities, up to one factor per row; the logs are overwritten."""
    # The likeliest word gets exp(0) = 1, so no row can underflow to nothing.
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    return np.cumsum(logs, axis=1, out=logs)


def _whole_rows(mechanism: RowMechanism, points: Points) -> Numbers:
    return cumulated(mechanism.log_rows(points))


def _columns(
    rows: Build, width: int, points: Points, draws: Numbers, store: RowStore | None
) -> Points:
    outputs = np.empty(len(points), dtype=np.intp)
    for table in tables(rows, CELLS // width, points, store):
        places = table.places[points]
        mine = np.flatnonzero(places >= 0)
        if len(mine):
            search = Search(table.rows, places[mine], slice(0, width))
            outputs[mine] = search.at_share(draws[mine])[0]
    return outputs
