"""A budget in a file: SQLite, with a journal that survives a crash.

``BEGIN IMMEDIATE`` takes the file's only lock before anything is read, so that what was read is
still true when it is written; a transaction that begins with reading would fail as busy, or, where
each statement counts by itself, spend twice. Every commit is on the disk before it returns.

Whoever waits for the file's lock asks for it again and again, with pauses like those of SQLite
itself, and holds nothing meanwhile: other threads read, and he can go (``patience``).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path

from sfumato.accounting.budget.patience import WAITING, Patience, whoever_waits
from sfumato.accounting.budget.schema import KNOWN, SQLITE_LOCKS, Step, for_sqlite
from sfumato.accounting.budget.store import BUSY, Entry, Row, Store
from sfumato.core.errors import BudgetBusy, StorageFailed
from sfumato.core.files import OWNER_ONLY

_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.025, 0.05)  # seconds, and then the last
_LAST_PAUSE = 0.1

_PAY = """
UPDATE account SET spent = spent + :amount, spent_delta = spent_delta + :delta,
  speaks_of = :speaks_of
WHERE name = :name AND closed IS NULL AND speaks_of IN ('', :speaks_of)
  AND :amount <= most - spent AND :delta <= most_delta - spent_delta
RETURNING id
"""
_NOTE = """
INSERT INTO charge
SELECT id, :key, :request, :amount, :delta, :state, :guarantee, :outcome, :at
FROM account WHERE name = :name
"""


class SqliteStore(Store):
    """One connection for each process, and one writer at a time in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._open: tuple[int, sqlite3.Connection] | None = None

    @contextmanager
    def transaction(self) -> Iterator[SqliteStore]:
        """All statements inside count, or none."""
        who = whoever_waits()
        with _failing(), self._begun(who) as connection:
            if connection is None:
                yield self
                return
            try:
                who.begin_charging()
                yield self
                connection.commit()
            except BaseException:
                # Also if the commit failed: left open, it would swallow all later ones.
                connection.rollback()
                raise

    def run(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """One statement; its rows."""
        with self._lock, _failing():
            return self._connection().execute(statement, values or {}).fetchall()

    def charge(self, entry: Entry) -> bool:
        """Pay and note it, or neither."""
        try:
            with self.transaction():
                if not self.run(_PAY, entry.values()):
                    return False
                self.run(_NOTE, entry.values())
        except _KnownKey:
            return False
        return True

    def forget_outcomes(self, before: str) -> None:
        """Drop outcomes that are older, and what the journal still has of them."""
        super().forget_outcomes(before)
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def has_tables(self) -> bool:
        """Whether this is a budget already."""
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE name = 'meta'"))

    def tables(self) -> list[str]:
        """The statements that make it one, of version 1."""
        return for_sqlite()

    def statements(self, step: Step) -> tuple[str, ...]:
        """Those of a step to another version."""
        return step.sqlite

    def lock(self, table: str) -> tuple[str, str]:
        """The statements that let a table be changed, and that forbid it again."""
        return SQLITE_LOCKS[table]

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            if self._open is not None and self._open[0] == os.getpid():
                self._open[1].close()
            self._open = None

    @contextmanager
    def _begun(self, who: Patience) -> Iterator[sqlite3.Connection | None]:
        """A transaction, for which this process and others are waited for as long as he waits.

        None inside of one of this thread.
        """
        pauses = chain(_PAUSES, repeat(_LAST_PAUSE))
        while True:
            if self._lock.acquire(timeout=who.left()):
                try:
                    connection = self._connection()
                    if connection.in_transaction:
                        yield None
                        return
                    if _begins(connection):
                        yield connection
                        return
                finally:
                    self._lock.release()
            if not who.left():
                raise BudgetBusy(BUSY)
            time.sleep(min(next(pauses), who.left()))

    def _connection(self) -> sqlite3.Connection:
        # A connection must not be used by two processes: a child opens the file anew.
        if self._open is None or self._open[0] != os.getpid():
            # Outputs are stored here for a while: the file is for its owner alone.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
            connection = sqlite3.connect(
                self.path, timeout=WAITING, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is overwritten
            self._open = os.getpid(), connection
        return self._open[1]


def _begins(connection: sqlite3.Connection) -> bool:
    """Whether the file's lock was free; if so, a transaction has begun."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {1000 * WAITING:.0f}")
    return True


class _KnownKey(Exception):
    """A charge under a key that has one."""


@contextmanager
def _failing() -> Iterator[None]:
    """Errors of SQLite as ours; they never hold values, but they may name a table."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        if str(error) == KNOWN:
            raise _KnownKey from None
        raise StorageFailed(f"the budget refused a change: {error}") from None
    except (sqlite3.Error, OSError) as error:
        if isinstance(error, StorageFailed):
            raise
        raise StorageFailed(f"the budget's file cannot be used: {error}") from None
