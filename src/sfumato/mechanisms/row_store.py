"""A bounded store of cumulated rows, so that a word met again costs a search and no row.

What is kept
    Numbers that follow from public vectors alone. *Which* points have a row here follows from the
    words that were privatized, so a store lives in memory only: it is not written, and a copy of
    its mechanism, such as a worker process gets, begins with none.

How much
    All stores of a process together take ``LIMIT`` bytes at most, or as many megabytes as the
    environment variable ``SFUMATO_ROW_MEMORY`` says. A row that finds no room is drawn from and
    dropped, so memory does not grow with the corpus. What a draw gives does not depend on whether
    its row was kept.

Tables of cumulated rows, and the search for many draws at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Floats, Points
from sfumato.core.errors import InvalidArgument

LIMIT = 1 << 30
VARIABLE = "SFUMATO_ROW_MEMORY"


class RowStore:
    """Rows of numbers for some points of a space.

    ``rows[places[point]]`` is the row of a point, and its place is −1 if it has none here. Rows
    are only ever added, and a place is set after its row is there: threads that read while another
    one adds see either nothing or the whole row.
    """

    def __init__(self, points: int) -> None:
        self.places = np.full(points, -1, dtype=np.intp)
        self.rows: NDArray[np.float64] = np.empty((0, 0))
        self.count = 0

    def keep(self, points: NDArray[np.intp], rows: NDArray[np.float64]) -> None:
        """Take in the rows of some points as far as there is room; each is taken once."""
        # Never wait: a row that is not kept is only built again.
        if not _Stores.lock.acquire(blocking=False):
            return
        try:
            new = np.flatnonzero(self.places[points] < 0)[: self._room(rows.shape[1])]
            if not len(new):
                return
            if not self.count:
                # Taken from the system page by page as it fills, not at once.
                most = min(len(self.places), limit() // rows[0].nbytes)
                self.rows = np.empty((most, rows.shape[1]))
                _Stores.alive.add(self)
            places = np.arange(self.count, self.count + len(new))
            self.rows[places] = rows[new]
            self.count += len(new)
            self.places[points[new]] = places
        finally:
            _Stores.lock.release()

    def _room(self, width: int) -> int:
        """How many more rows of that many numbers there is room for."""
        free = limit() - sum(store.taken for store in _Stores.alive)
        more = free // (width * self.rows.itemsize)
        # The array is made once, for the limit of that time.
        return max(0, min(more, len(self.rows) - self.count) if self.count else more)

    @property
    def taken(self) -> int:
        """Bytes in use."""
        return self.rows[: self.count].nbytes


class _Stores:
    """The stores of this process that hold rows; one that nobody has any more leaves its room."""

    alive: ClassVar[WeakSet[RowStore]] = WeakSet()
    lock = threading.Lock()


def limit() -> int:
    """How many bytes all stores of this process may take together."""
    given = os.environ.get(VARIABLE)
    if given is None:
        return LIMIT
    if not given.isdecimal():
        raise InvalidArgument(
            f"{VARIABLE}={given!r} must be a whole number of megabytes; 0 keeps no rows"
        )
    return int(given) << 20


Build = Callable[[Points], Floats]

BELOW_ONE = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True)
class CumulatedRows:
    """Rows of some points: ``rows[places[point]]``; the place of every other point is −1."""

    places: Points
    rows: Floats


def tables(
    build: Build, size: int, points: Points, store: RowStore | None
) -> Iterator[CumulatedRows]:
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
        yield CumulatedRows(places, rows)
    if store is not None:
        # Places first: whatever has one by now is in the rows that are looked at after that.
        places = store.places.copy()
        yield CumulatedRows(places, store.rows)


@dataclass(frozen=True)
class Search:
    """A search in some columns of a table's rows, one row for each draw."""

    rows: Floats
    which: Points
    columns: slice

    def at_share(self, shares: Floats) -> tuple[Points, Floats]:
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

    def first_above(self, reached: Floats) -> Points:
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

    def _numbers(self, columns: Points | int) -> Floats:
        places = self.which * self.rows.shape[1]
        places += self.columns.start
        places += columns
        numbers: Floats = np.take(self.rows, places)
        return numbers
