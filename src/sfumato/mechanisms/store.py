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
"""

from __future__ import annotations

import os
import threading
from typing import ClassVar
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

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
