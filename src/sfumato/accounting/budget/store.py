"""What a budget asks of its database; SQLite and PostgreSQL differ in how a charge is made.

Guarantee
    Of all charges that are made at once, by any number of processes, no more are granted than the
    limit allows. A charge and its outcome are stored together or not at all, and a key is charged
    once.

Why it holds
    The sum is compared and raised in one statement, under the lock of the account's row
    (PostgreSQL) or of the whole file (SQLite); a CHECK would refuse what slipped through. A key is
    part of the primary key of charges, and a second insertion undoes its whole transaction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sfumato.accounting.budget.accounts import Account, Kind, Limit, Measure
from sfumato.accounting.budget.amounts import Amount
from sfumato.accounting.budget.charges import Charge
from sfumato.accounting.budget.migration import migrate
from sfumato.accounting.budget.schema import VERSION, Step
from sfumato.core.errors import CannotUnseal, StorageFailed

Row = Sequence[Any]
BUSY = "others are charging this budget for too long; nothing was charged, and later it may work"

_ACCOUNTS = """
SELECT kind, measure, alpha, most, most_delta, spent, spent_delta, speaks_of, opened, closed,
  (SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM charge
    WHERE account = account.id AND state = 'held'),
  (SELECT CAST(COALESCE(SUM(delta), 0) AS BIGINT) FROM charge
    WHERE account = account.id AND state = 'held'),
  (SELECT COUNT(*) FROM charge WHERE account = account.id), name
FROM account
"""


@dataclass(frozen=True)
class Entry:
    """A charge to be made, and the account it goes to, under its coded name."""

    account: bytes
    key: str
    request: bytes
    amount: Amount
    held: bool
    guarantee: str
    speaks_of: str
    outcome: str | None
    at: str

    def values(self) -> dict[str, object]:
        """By the names that statements use."""
        return {
            "name": self.account,
            "key": self.key,
            "request": self.request,
            "amount": self.amount.units,
            "delta": self.amount.delta,
            "state": "held" if self.held else "spent",
            "guarantee": self.guarantee,
            "speaks_of": self.speaks_of,
            "outcome": self.outcome,
            "at": self.at,
        }


@dataclass(frozen=True)
class Stored:
    """A charge that was made under a key."""

    request: bytes
    amount: Amount
    held: bool
    outcome: str | None


@dataclass(frozen=True)
class Standing:
    """What of an account decides whether it can be charged; no charge of it is looked at."""

    limit: Limit
    speaks_of: str


class Store(ABC):
    """A database with the tables of ``schema``. Parameters in statements are written ``:name``."""

    @abstractmethod
    @contextmanager
    def transaction(self) -> Iterator[Store]:
        """All statements inside count, or none; other writers wait, or their changes are seen.

        It is waited for as long as whoever wants it waits, and begins only if he still does
        (``patience``); then others may be in the way for too long (``BudgetBusy``).
        """
        yield self

    @abstractmethod
    def run(self, statement: str, values: Mapping[str, object] | None = None) -> list[Row]:
        """One statement; its rows."""

    @abstractmethod
    def charge(self, entry: Entry) -> bool:
        """Charge if the account is open, speaks of the same and has enough left.

        False if not, or if the key was charged before: in both cases nothing has changed.
        """

    @abstractmethod
    def has_tables(self) -> bool:
        """Whether this is a budget already."""

    @abstractmethod
    def tables(self) -> list[str]:
        """The statements that make it one, of version 1."""

    @abstractmethod
    def statements(self, step: Step) -> tuple[str, ...]:
        """Those of a step to another version."""

    @abstractmethod
    def lock(self, table: str) -> tuple[str, str]:
        """The statements that let a table be changed, and that forbid it again."""

    @abstractmethod
    def close(self) -> None:
        """Release the connection."""

    def prepare(self, key_check: bytes) -> None:
        """Make the tables if there are none, and refuse another key; older ones grow.

        A program of before cannot read what has grown.
        """
        with self.transaction():
            if not self.has_tables():
                for statement in self.tables():
                    self.run(statement)
                self.run("INSERT INTO meta VALUES (1, :check)", {"check": key_check})
            [(version, check)] = self.run("SELECT schema, key_check FROM meta")
        if bytes(check) != key_check:
            raise CannotUnseal(
                "the budget was made under another key; under this one every account would look "
                "untouched"
            )
        if version < VERSION:
            migrate(self)
        if version > VERSION:
            raise StorageFailed(
                f"this budget has version {version} and this program knows {VERSION}; use a newer "
                "program"
            )

    def open(self, name: bytes, kind: Kind, limit: Limit, at: str) -> bool:
        """A new account; False if there is one of this name."""
        with self.transaction():
            if self.standing(name) is not None:
                return False
            made = self.run(
                "INSERT INTO account"
                " (name, kind, measure, alpha, speaks_of, most, most_delta, opened)"
                " VALUES (:name, :kind, :measure, :alpha, '', :most, :most_delta, :at)"
                # Somebody else may be opening it at this moment.
                " ON CONFLICT (name) DO NOTHING RETURNING id",
                {
                    "name": name,
                    "kind": kind.value,
                    "measure": limit.measure.value,
                    "alpha": limit.order,
                    "most": limit.most.units,
                    "most_delta": limit.most.delta,
                    "at": at,
                },
            )
        return bool(made)

    def accounts(self) -> list[tuple[bytes, Account]]:
        """All accounts with their coded names, the oldest first."""
        rows = self.run(_ACCOUNTS + " ORDER BY id")
        return [(bytes(row[-1]), _account(row)) for row in rows]

    def account(self, name: bytes) -> Account | None:
        """One account."""
        rows = self.run(_ACCOUNTS + " WHERE name = :name", {"name": name})
        return _account(rows[0]) if rows else None

    def standing(self, name: bytes) -> Standing | None:
        """What is needed to charge an account; however many charges it has, this is quick."""
        rows = self.run(
            "SELECT measure, alpha, most, most_delta, speaks_of FROM account WHERE name = :name",
            {"name": name},
        )
        if not rows:
            return None
        measure, alpha, most, most_delta, speaks_of = rows[0]
        return Standing(Limit(Measure(measure), Amount(most, most_delta), alpha), speaks_of)

    def stored(self, name: bytes, key: str) -> Stored | None:
        """The charge that was made under a key."""
        rows = self.run(
            "SELECT request, amount, delta, state, outcome FROM charge WHERE key = :key AND "
            "account = (SELECT id FROM account WHERE name = :name)",
            {"name": name, "key": key},
        )
        if not rows:
            return None
        request, amount, delta, state, outcome = rows[0]
        return Stored(bytes(request), Amount(amount, delta), state == "held", outcome)

    def settle(self, name: bytes, key: str, amount: Amount, outcome: str | None) -> bool:
        """Turn a hold into a charge of at most its amount; False if there is no such hold."""
        with self.transaction():
            found = self.stored(name, key)
            if found is None or not found.held:
                return False
            values = {
                "name": name,
                "key": key,
                "amount": amount.units,
                "delta": amount.delta,
                "outcome": outcome,
            }
            changed = self.run(
                "UPDATE charge SET state = 'spent', amount = :amount, delta = :delta, "
                "outcome = :outcome WHERE key = :key AND state = 'held' AND amount >= :amount AND "
                "delta >= :delta AND account = (SELECT id FROM account WHERE name = :name) "
                "RETURNING key",
                values,
            )
            if not changed:
                return False
            back = found.amount.without(amount)
            self.run(
                "UPDATE account SET spent = spent - :back, spent_delta = spent_delta - :delta "
                "WHERE name = :name",
                {"name": name, "back": back.units, "delta": back.delta},
            )
        return True

    def close_account(self, name: bytes, at: str) -> None:
        """Nothing more can be charged to it."""
        with self.transaction():
            self.run(
                "UPDATE account SET closed = :at WHERE name = :name AND closed IS NULL",
                {"name": name, "at": at},
            )

    def charges(self, name: bytes) -> list[Charge]:
        """All charges of an account, the oldest first."""
        rows = self.run(
            "SELECT at, amount, delta, state, guarantee FROM charge "
            "WHERE account = (SELECT id FROM account WHERE name = :name) ORDER BY at, key",
            {"name": name},
        )
        return [
            Charge(at, Amount(amount, delta), state == "held", guarantee)
            for at, amount, delta, state, guarantee in rows
        ]

    def forget_outcomes(self, before: str) -> None:
        """Drop outcomes that are older; their charges stay."""
        with self.transaction():
            self.run(
                "UPDATE charge SET outcome = NULL WHERE outcome IS NOT NULL AND at < :before",
                {"before": before},
            )


def _account(row: Row) -> Account:
    kind, measure, alpha, most, most_delta, spent, spent_delta, speaks_of, opened, closed = row[:10]
    held, held_delta, charges = row[10:13]
    return Account(
        Kind(kind),
        Limit(Measure(measure), Amount(most, most_delta), alpha),
        spent=Amount(spent, spent_delta),
        held=Amount(int(held), int(held_delta)),
        charges=charges,
        speaks_of=speaks_of,
        opened=opened,
        closed=closed,
    )
