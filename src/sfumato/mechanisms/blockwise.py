"""Draws from rows that are known in parts: by the sums of blocks of words first, then inside one.

A row of 60,000 numbers is much to keep for each word of a corpus. The sums of its blocks, a few
dozen words each, are few: a draw finds its block by them, and only that block is spelled out. The
heaviest block of a row, mostly the one with the word itself in it, is kept spelled out as well.

Care
    The weights of a block are computed again when it is spelled out. Products of matrices are made
    so that a number does not depend on what stands around it (``vectors/squares.py``); were the
    last digit of some number to change nevertheless, bounds between words would move by some 1e-13
    of the whole, and a draw would have to fall into such a gap to become another word. The law is
    that of the row to the same digits.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np

from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.store import RowStore
from sfumato.mechanisms.tables import Numbers, Points, Search, tables

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

    def weights(self, points: Points, words: slice) -> Numbers:
        """What is proportional to the probability of some words, one row per point.

        The factor may differ between points but not between parts of one row, and the largest
        weight of a row must be about 1.
        """
        ...

    def block_sums(self, points: Points, size: int) -> Numbers:
        """The same for blocks of ``size`` words, from the first word on (the last may be short)."""
        ...


def inverted_by_blocks(
    mechanism: PartwiseRows, points: Points, draws: Numbers, store: RowStore | None
) -> Points:
    """The word that each number in [0, 1) stands for in the row of its point."""
    size = block_size(len(mechanism.space))
    count = -(-len(mechanism.space) // size)
    blocks, shares = np.empty(len(points), dtype=np.intp), np.empty(len(points))
    outputs = np.full(len(points), -1, dtype=np.intp)
    for table in tables(partial(kept_row, mechanism, size), SIDE, points, store):
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


def sums_of_blocks(mechanism: PartwiseRows, points: Points, size: int) -> Numbers:
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


def kept_row(mechanism: PartwiseRows, size: int, points: Points) -> Numbers:
    """What is kept of each row: its cumulated sums, its heaviest block cumulated, which that is."""
    sums = mechanism.block_sums(points, size)
    count = sums.shape[1]
    heaviest = sums.argmax(axis=1)
    rows = np.empty((len(points), count + size + 1))
    np.cumsum(sums, axis=1, out=rows[:, :count])
    order = np.argsort(heaviest, kind="stable")
    rows[order, count:-1] = _spelled_out(mechanism, points[order], heaviest[order])
    rows[:, -1] = heaviest
    return rows


def _inside(mechanism: PartwiseRows, points: Points, blocks: Points, shares: Numbers) -> Points:
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
        rows = _spelled_out(mechanism, points[heads], blocks[heads])
        draws = order[mine]
        search = Search(rows, pair_of[mine] - start, slice(0, size))
        outputs[draws] = blocks[draws] * size + search.at_share(shares[draws])[0]
    return outputs


def _spelled_out(mechanism: PartwiseRows, points: Points, blocks: Points) -> Numbers:
    """Cumulated weights of the words of one block for each point; equal blocks stand together."""
    words, size = len(mechanism.space), block_size(len(mechanism.space))
    rows = np.zeros((len(points), size))
    firsts = np.append(np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks))
    for start, end in pairwise(firsts.tolist()):
        first = int(blocks[start]) * size
        tile = slice(first, min(first + size, words))
        rows[start:end, : tile.stop - first] = mechanism.weights(points[start:end], tile)
    return np.cumsum(rows, axis=1, out=rows)
