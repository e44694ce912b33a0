"""How long a charge waits for others at the database, and whether it is still wanted afterwards.

Guarantee
    A charge whose caller was told that it is not made is never made, however long others keep the
    database.

Why it holds
    A database asks ``begin_charging`` when nothing is left to wait for but its own disk: SQLite
    with the lock of the file in hand, PostgreSQL before a statement that waits for others no longer
    than ``left``. Whoever has told the caller that nothing is charged lets it raise, which undoes
    the transaction; whoever was not asked yet may tell so.

Care
    A commit that has begun is carried to its end: a disk or a network that stands still then is
    waited for, since nobody can know whether it was written.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

WAITING = 120.0  # seconds that a process waits for others to finish their charges


class Patience(Protocol):
    """Somebody who waits for a charge."""

    def left(self) -> float:
        """For how many more seconds; none when he has gone."""
        ...

    def begin_charging(self) -> None:
        """From here on it is charged; raises if he was told that it is not."""
        ...


class Usual:
    """Somebody who waits as long as one waits for other processes, and never goes."""

    def __init__(self) -> None:
        self._until = time.monotonic() + WAITING

    def left(self) -> float:
        """What is left of the usual time."""
        return max(0.0, self._until - time.monotonic())

    def begin_charging(self) -> None:
        """It is wanted."""


_WHO: ContextVar[Patience | None] = ContextVar("who waits for a charge", default=None)


@contextmanager
def waiting_for_it(who: Patience) -> Iterator[None]:
    """Charges inside are for somebody who does not wait for ever."""
    token = _WHO.set(who)
    try:
        yield
    finally:
        _WHO.reset(token)


def whoever_waits() -> Patience:
    """Whom a charge is for, as seen by a database."""
    return _WHO.get() or Usual()
