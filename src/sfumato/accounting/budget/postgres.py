"""A budget in PostgreSQL, for several machines: each charge is one statement.

The statement raises the sum where it stays within the limit, which takes the lock of the account's
row and compares with what others have committed meanwhile, and notes the charge in the same breath.
A commit is on the server's disk before it returns (``synchronous_commit``). No statement that
charges waits for the lock of a row longer than its caller (``lock_timeout``).
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.accounting.budget.patience import whoever_waits
from sfumato.accounting.budget.schema import POSTGRES_LOCKS, Step, for_postgres
from sfumato.accounting.budget.store import BUSY, Entry, Row, Store
from sfumato.core.checks import extra
from sfumato.core.errors import BudgetBusy, StorageFailed

if TYPE_CHECKING:
    import psycopg

# Whoever makes the tables holds this lock, so that nobody else does at the same time.
_LOCK = 0x5F0_3A70
_TENTH = 100  # milliseconds
_NAMED = re.compile(r"(?<!:):([a-z_]+)")

_CHARGE = """
WITH paid AS (
  UPDATE account SET spent = spent + :amount, spent_delta = spent_delta + :delta,
    speaks_of = :speaks_of
  WHERE name = :name AND closed IS NULL AND speaks_of IN ('', :speaks_of)
    AND :amount <= most - spent AND :delta <= most_delta - spent_delta
  RETURNING id)
INSERT INTO charge
SELECT id, :key, :request, :amount, :delta, :state, :guarantee, :outcome, :at FROM paid
RETURNING key
"""


class PostgresStore(Store):
    """One connection for each process."""

    def __init__(self, url: str) -> None:
        self._driver: Any = extra("psycopg", needed_for="a budget in PostgreSQL", extra="postgres")
        self._url = url
        self._lock = threading.RLock()
        self._open: tuple[int, psycopg.Connection[Any]] | None = None
        self._within, self._waits = False, 0

    @contextmanager
    def transaction(self) -> Iterator[PostgresStore]:
        """All statements inside count, or none."""
        with self._failing(), self._charging() as connection:
            if self._within:
                yield self
                return
            self._within = True
            try:
                with connection.transaction():
                    yield self
            finally:
                self._within = False

    def run(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """One statement; its rows."""
        with self._lock, self._failing():
            asked: Any = _NAMED.sub(r"%(\1)s", statement) if values else statement
            cursor = self._connection().execute(asked, values)
            return cursor.fetchall() if cursor.description is not None else []

    def charge(self, entry: Entry) -> bool:
        """Pay and note it, in one statement."""
        try:
            with self._failing(), self._charging():
                return bool(self.run(_CHARGE, entry.values()))
        except _KnownKey:
            return False

    def has_tables(self) -> bool:
        """Whether this is a budget already; others wait until it is."""
        self.run("SELECT pg_advisory_xact_lock(:lock)", {"lock": _LOCK})
        return self.run("SELECT to_regclass('meta')")[0][0] is not None

    def tables(self) -> list[str]:
        """The statements that make it one, of version 1."""
        return for_postgres()

    def statements(self, step: Step) -> tuple[str, ...]:
        """Those of a step to another version."""
        return step.postgres

    def lock(self, table: str) -> tuple[str, str]:
        """The statements that let a table be changed, and that forbid it again."""
        return POSTGRES_LOCKS[table]

    def close(self) -> None:
        """Release the connection."""
        with self._lock:
            if self._open is not None and self._open[0] == os.getpid():
                self._open[1].close()
            self._open = None

    @contextmanager
    def _charging(self) -> Iterator[psycopg.Connection[Any]]:
        """The connection, for statements that wait for others as long as their caller does."""
        who = whoever_waits()
        if not self._lock.acquire(timeout=who.left()):
            raise BudgetBusy(BUSY)
        try:
            connection = self._connection()
            if not self._within:
                self._wait_at_most(connection, who.left())
                who.begin_charging()
            yield connection
        finally:
            self._lock.release()

    def _wait_at_most(self, connection: psycopg.Connection[Any], seconds: float) -> None:
        # Zero would be for ever; who has gone is told when he is asked. Tenths, so that the server
        # need not be told anew each time.
        wanted = max(_TENTH, int(10 * seconds) * _TENTH)
        if wanted != self._waits:
            connection.execute(f"SET lock_timeout = {wanted}")
            self._waits = wanted

    def _connection(self) -> psycopg.Connection[Any]:
        if self._open is None or self._open[0] != os.getpid() or self._open[1].closed:
            made = self._driver.connect(self._url, autocommit=True)
            made.execute("SET synchronous_commit = on")
            self._open, self._waits = (os.getpid(), made), 0
        return self._open[1]

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Errors of the driver as ours, without the address, which may hold a password."""
        try:
            yield
        except self._driver.errors.UniqueViolation as error:
            if error.diag.table_name == "charge":
                raise _KnownKey from None
            raise StorageFailed("the budget refused a change: it is there already") from None
        except self._driver.errors.LockNotAvailable:
            raise BudgetBusy(BUSY) from None
        except self._driver.Error as error:
            said = error.diag.message_primary or type(error).__name__
            raise StorageFailed(f"the budget's database cannot be used: {said}") from None


class _KnownKey(Exception):
    """A charge under a key that has one."""
