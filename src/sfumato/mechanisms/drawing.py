"""Draws from rows: the inverse of the cumulated row, for many words at once.

A draw is a number u in [0, 1); it becomes the first word at which the cumulated row exceeds u times
its total. That is all a draw depends on: not on the words around it, on how they are grouped, nor
on which rows were built before.

How it is fast
    A row of 60,000 numbers is much to keep for each word of a corpus. A mechanism that can tell the
    weights of a few words of a row by themselves (``PartwiseRows``) is asked for the sums of blocks
    of them, a few dozen words each: these are kept, one draw finds its block by them, and only the
    block is spelled out. Blocks of one word are the whole row, for all other mechanisms. Rows are
    built once for each distinct word and searched for all words together.

Care
    The weights of a block are computed again when it is spelled out. A product of matrices may
    round the last digit of a number differently when other numbers stand around it, so bounds
    between words are the same up to some 1e-13 of the whole, and a draw would have to fall into
    such a gap to become another word. Its law is that of the row to the same digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.store import RowStore

if TYPE_CHECKING:
    from sfumato.mechanisms.rows import RowMechanism

Points = NDArray[np.intp]
Numbers = NDArray[np.float64]
Build = Callable[[Points], Numbers]

# Words drawn for at once, and numbers held at once in a block of rows (32 MB).
AT_ONCE = 1 << 20
CELLS = 1 << 22
# A block of words is as small as this, unless a row would then have more blocks than that.
SMALLEST_BLOCK = 32
MOST_BLOCKS = 2048
# Rows and words are weighed in tiles of this side: large enough for a fast product.
SIDE = 2048
BELOW_ONE = float(np.nextafter(1.0, 0.0))


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


@dataclass(frozen=True)
class Table:
    """Cumulated rows of some points; the place of every other point is −1."""

    places: Points
    rows: Numbers


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
        size = block_size(len(mechanism.space))
        tables = _tables(partial(_cumulated_blocks, mechanism, size), SIDE, points, store)
        blocks, share = _searched(tables, points, draws)
        return _inside(mechanism, points, blocks, share)
    rows = partial(cumulative_rows, mechanism)
    tables = _tables(rows, CELLS // len(mechanism.space), points, store)
    return _searched(tables, points, draws)[0]


def draw_columns(rows: Build, width: int, points: Points, randomness: Randomness) -> Points:
    """For each point a column, drawn from the cumulated row of ``width`` numbers that it has."""
    draws = randomness.uniform(len(points))
    return _searched(_tables(rows, CELLS // width, points, None), points, draws)[0]


def cumulative_rows(mechanism: RowMechanism, points: Points) -> Numbers:
    """Cumulated probabilities of all words, up to one factor per row."""
    return cumulated(mechanism.log_rows(points))


def cumulated(logs: Numbers) -> Numbers:
    """Cumulated probabilities, up to one factor per row; the logs are overwritten."""
    # The likeliest word gets exp(0) = 1, so no row can underflow to nothing.
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    return np.cumsum(logs, axis=1, out=logs)


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


def _cumulated_blocks(mechanism: PartwiseRows, size: int, points: Points) -> Numbers:
    sums = mechanism.block_sums(points, size)
    return np.cumsum(sums, axis=1, out=sums)


def _tables(build: Build, size: int, points: Points, store: RowStore | None) -> Iterator[Table]:
    """Tables that hold the rows of all points; at most ``size`` rows are built at once."""
    wanted = np.flatnonzero(np.bincount(points))
    if store is not None:
        wanted = wanted[store.places[wanted] < 0]
    for start in range(0, len(wanted), max(1, size)):
        some = wanted[start : start + max(1, size)]
        rows = build(some)
        if store is not None:
            store.keep(some, rows)
            left = store.places[some] < 0
            some, rows = some[left], rows[left]
        places = np.full(points.max() + 1, -1, dtype=np.intp)
        places[some] = np.arange(len(some))
        yield Table(places, rows)
    if store is not None:
        # Places first: whatever has one by now is in the rows that are looked at after that.
        places = store.places.copy()
        yield Table(places, store.rows)


def _searched(tables: Iterable[Table], points: Points, draws: Numbers) -> tuple[Points, Numbers]:
    """Where in its row each draw arrives, and which share of the number there it goes through."""
    found, share = np.empty(len(points), dtype=np.intp), np.empty(len(points))
    for table in tables:
        places = table.places[points]
        mine = np.flatnonzero(places >= 0)
        if len(mine):
            found[mine], share[mine] = _place_and_share(table.rows, places[mine], draws[mine])
    return found, share


def _place_and_share(rows: Numbers, which: Points, draws: Numbers) -> tuple[Points, Numbers]:
    # A draw is below 1, so its multiple is below the total and some number lies above it.
    reached = draws * rows[which, -1]
    found = first_above(rows, which, reached)
    before = np.where(found > 0, rows[which, found - 1], 0.0)
    share = (reached - before) / (rows[which, found] - before)
    return found, np.minimum(share, BELOW_ONE)


def first_above(rows: Numbers, which: Points, reached: Numbers) -> Points:
    """The place of the first number above ``reached`` in rows that never fall: bisected at once."""
    width = rows.shape[1]
    numbers, starts = rows.reshape(-1), which * width
    found = np.zeros(len(which), dtype=np.intp)
    step = 1 << (width.bit_length() - 1)
    while step:
        last = np.minimum(found + step, width) - 1
        found += step * (numbers[starts + last] <= reached)
        step >>= 1
    np.minimum(found, width - 1, out=found)
    return found


def _inside(mechanism: PartwiseRows, points: Points, blocks: Points, share: Numbers) -> Points:
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
        rows = _blocks(mechanism, points[heads], blocks[heads])
        draws, which = order[mine], pair_of[mine] - start
        found = first_above(rows, which, share[draws] * rows[which, -1])
        outputs[draws] = blocks[draws] * size + found
    return outputs


def _blocks(mechanism: PartwiseRows, points: Points, blocks: Points) -> Numbers:
    """Cumulated weights of the words of one block for each point; equal blocks stand together."""
    words, size = len(mechanism.space), block_size(len(mechanism.space))
    rows = np.zeros((len(points), size))
    firsts = np.append(np.flatnonzero(np.diff(blocks, prepend=-1)), len(blocks))
    for start, end in pairwise(firsts.tolist()):
        first = int(blocks[start]) * size
        tile = slice(first, min(first + size, words))
        rows[start:end, : tile.stop - first] = mechanism.weights(points[start:end], tile)
    return np.cumsum(rows, axis=1, out=rows)
