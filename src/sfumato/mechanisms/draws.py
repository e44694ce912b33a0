"""Draws from rows: the inverse of the cumulated row, for many words at once.

A draw is a number u in [0, 1); it becomes the first word at which the cumulated row exceeds u times
its total. That is all a draw depends on: not on the words around it, on how they are grouped, nor
on which rows were built before. Rows are built once for each distinct word, kept in a store as far
as there is room, and searched for all words together. Words are drawn in blocks: memory follows the
block, not the text.

Rows may also be known in parts, by the sums of blocks of words first and then inside one: a row of
60,000 numbers is much to keep for each word of a corpus. The sums of its blocks, a few dozen words
each, are few: a draw finds its block by them, and only that block is spelled out. The heaviest
block of a row, mostly the one with the word itself in it, is kept spelled out as well.

Care
    The weights of a block are computed again when it is spelled out. Products of matrices are made
    so that a number does not depend on what stands around it (``vectors/distances.py``); were the
    last digit of some number to change nevertheless, bounds between words would move by some 1e-13
    of the whole, and a draw would have to fall into such a gap to become another word. The law is
    that of the row to the same digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from sfumato.core.arrays import Floats, Points
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.row_store import Build, RowStore, Search, tables

if TYPE_CHECKING:
    from sfumato.mechanisms.rows import RowMechanism


# Numbers held at once in spelled-out blocks (32 MB).
CELLS = 1 << 22
# A block of words is as small as this, unless a row would then have more blocks than that.
SMALLEST_BLOCK = 32
MOST_BLOCKS = 2048
# Rows and words are weighed in tiles of this side: large enough for a fast product.
SIDE = 2048


@runtime_checkable
class PartwiseRows(PointMechanism, Protocol):
    """A mechanism that knows parts of a row without the rest of it."""

    def weights(self, points: Points, words: slice) -> Floats:
        """What is proportional to the probability of some words, one row per point.

        The factor may differ between points but not between parts of one row, and the largest
        weight of a row must be about 1.
        """
        ...

    def block_sums(self, points: Points, size: int) -> Floats:
        """The same for blocks of ``size`` words, from the first word on (the last may be short)."""
        ...


def invert_by_blocks(
    mechanism: PartwiseRows, points: Points, draws: Floats, store: RowStore | None
) -> Points:
    """The word that each number in [0, 1) stands for in the row of its point."""
    size = block_size(len(mechanism.space))
    count = -(-len(mechanism.space) // size)
    blocks, shares = np.empty(len(points), dtype=np.intp), np.empty(len(points))
    outputs = np.full(len(points), -1, dtype=np.intp)
    for table in tables(partial(keep_row, mechanism, size), SIDE, points, store):
        places = table.places[points]
        mine = np.flatnonzero(places >= 0)
        if not len(mine):
            continue
        which = places[mine]
        search = Search(table.rows, which, slice(0, count))
        blocks[mine], shares[mine] = search.at_share(draws[mine])
        heavy = blocks[mine] == table.rows[which, -1]
        at_once = mine[heavy]
        search = Search(table.rows, which[heavy], slice(count, count + size))
        outputs[at_once] = blocks[at_once] * size + search.at_share(shares[at_once])[0]
    left = np.flatnonzero(outputs < 0)
    outputs[left] = _inside(mechanism, points[left], blocks[left], shares[left])
    return outputs


def block_size(words: int) -> int:
    """How many words are summed up into one number.

    >>> block_size(12), block_size(60_000), block_size(400_000)
    (32, 32, 196)
    """
    return max(SMALLEST_BLOCK, -(-words // MOST_BLOCKS))


def sums_of_blocks(mechanism: PartwiseRows, points: Points, size: int) -> Floats:
    """Sums of weights, from the weights of some thousand words at a time."""
    words = len(mechanism.space)
    sums = np.empty((len(points), -(-words // size)))
    step = max(1, SIDE // size)
    for block in range(0, sums.shape[1], step):
        tile = slice(block * size, min((block + step) * size, words))
        weights = mechanism.weights(points, tile)
        starts = np.arange(0, weights.shape[1], size)
        np.add.reduceat(weights, starts, axis=1, out=sums[:, block : block + step])
    return sums


def keep_row(mechanism: PartwiseRows, size: int, points: Points) -> Floats:
    """What is kept of each row: its cumulated sums, its heaviest block cumulated, which that is."""
    sums = mechanism.block_sums(points, size)
    count = sums.shape[1]
    heaviest = sums.argmax(axis=1)
    rows = np.empty((len(points), count + size + 1))
    np.cumsum(sums, axis=1, out=rows[:, :count])
    order = np.argsort(heaviest, kind="stable")
    rows[order, count:-1] = _spell_out(mechanism, points[order], heaviest[order])
    rows[:, -1] = heaviest
    return rows


def _inside(mechanism: PartwiseRows, points: Points, blocks: Points, shares: Floats) -> Points:
    """The word inside its block at which each draw arrives."""
    size, outputs = block_size(len(mechanism.space)), np.empty(len(points), dtype=np.intp)
    # Draws that fall into one block of one row go together, and all rows through one block.
    keys = blocks * (mechanism.space.unknown + 1) + points
    order = np.argsort(keys)
    begins = np.diff(keys[order], prepend=-1) > 0
    pair_of, firsts = np.cumsum(begins) - 1, np.append(np.flatnonzero(begins), len(keys))
    step = CELLS // size
    for start in range(0, len(firsts) - 1, step):
        end = min(start + step, len(firsts) - 1)
        heads, mine = order[firsts[start:end]], slice(firsts[start], firsts[end])
        rows = _spell_out(mechanism, points[heads], blocks[heads])
        draws = order[mine]
        search = Search(rows, pair_of[mine] - start, slice(0, size))
        outputs[draws] = blocks[draws] * size + search.at_share(shares[draws])[0]
    return outputs


def _spell_out(mechanism: PartwiseRows, points: Points, blocks: Points) -> Floats:
    """Cumulated weights of the words of one block for each point; equal blocks stand together."""
    words, size = len(mechanism.space), block_size(len(mechanism.space))
    rows = np.zeros((len(points), size))
    firsts = np.append(np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks))
    for start, end in pairwise(firsts.tolist()):
        first = int(blocks[start]) * size
        tile = slice(first, min(first + size, words))
        rows[start:end, : tile.stop - first] = mechanism.weights(points[start:end], tile)
    return np.cumsum(rows, axis=1, out=rows)


# Words drawn for at once, and numbers held at once in a block of rows (32 MB).
AT_ONCE = 1 << 20


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
        outputs[start : start + AT_ONCE] = invert_rows(mechanism, some, draws, store)
    return outputs


def invert_rows(
    mechanism: RowMechanism, points: Points, draws: Floats, store: RowStore | None = None
) -> Points:
    """The word that each number in [0, 1) stands for in the row of its point."""
    if isinstance(mechanism, PartwiseRows):
        return invert_by_blocks(mechanism, points, draws, store)
    return _columns(partial(_whole_rows, mechanism), len(mechanism.space), points, draws, store)


def draw_columns(rows: Build, width: int, points: Points, randomness: Randomness) -> Points:
    """For each point a column, drawn from the cumulated row of ``width`` numbers that it has."""
    return _columns(rows, width, points, randomness.uniform(len(points)), None)


def cumulate_rows(logs: Floats) -> Floats:
    """Cumulated probabilities, up to one factor per row; the logs are overwritten."""
    # The likeliest word gets exp(0) = 1, so no row can underflow to nothing.
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    return np.cumsum(logs, axis=1, out=logs)


def _whole_rows(mechanism: RowMechanism, points: Points) -> Floats:
    return cumulate_rows(mechanism.log_rows(points))


def _columns(
    rows: Build, width: int, points: Points, draws: Floats, store: RowStore | None
) -> Points:
    outputs = np.empty(len(points), dtype=np.intp)
    for table in tables(rows, CELLS // width, points, store):
        places = table.places[points]
        mine = np.flatnonzero(places >= 0)
        if len(mine):
            search = Search(table.rows, places[mine], slice(0, width))
            outputs[mine] = search.at_share(draws[mine])[0]
    return outputs


BLOCK = 4096


def in_blocks(points: Points, draw: Callable[[Points], Points]) -> Points:
    """Draw for a block of points at a time; each call of ``draw`` brings noise of its own."""
    outputs = np.empty(len(points), dtype=np.intp)
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        outputs[block] = draw(points[block])
    return outputs
