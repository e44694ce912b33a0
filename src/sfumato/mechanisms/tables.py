"""Tables of cumulated rows, and the search for many draws at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.store import RowStore

Points = NDArray[np.intp]
Numbers = NDArray[np.float64]
Build = Callable[[Points], Numbers]

BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class Table:
    """Rows of some points: ``rows[places[point]]``; the place of every other point is −1."""

    places: Points
    rows: Numbers


def tables(build: Build, size: int, points: Points, store: RowStore | None) -> Iterator[Table]:
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


@dataclass(frozen=True)
class Search:
    """A search in some columns of a table's rows, one row for each draw."""

    rows: Numbers
    which: Points
    columns: slice

    def at_share(self, shares: Numbers) -> tuple[Points, Numbers]:
        """Where so much of each row's total is reached, and how far into the number there.

        Both shares are in [0, 1), the second being of the step from the number before.
        """
        # A share is below 1, so its multiple is below the total and some number lies above it.
        reached = shares * self._numbers(self.columns.stop - self.columns.start - 1)
        found = self.first_above(reached)
        before = np.where(found > 0, self._numbers(found - 1), 0.0)
        with np.errstate(invalid="ignore"):  # 0/0 in a row without any weight
            inside = (reached - before) / (self._numbers(found) - before)
        return found, np.minimum(inside, BELOW_ONE)

    def first_above(self, reached: Numbers) -> Points:
        """The first column, counted from the first of these, with more than a number.

        Rows never fall, so all of them are bisected at once.
        """
        width = self.columns.stop - self.columns.start
        found = np.zeros(len(self.which), dtype=np.intp)
        step = 1 << (width.bit_length() - 1)
        while step:
            last = np.minimum(found + step, width) - 1
            found += step * (self._numbers(last) <= reached)
            step >>= 1
        np.minimum(found, width - 1, out=found)
        return found

    def _numbers(self, columns: Points | int) -> Numbers:
        places = self.which * self.rows.shape[1]
        places += self.columns.start
        places += columns
        numbers: Numbers = np.take(self.rows, places)
        return numbers
