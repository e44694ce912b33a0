"""From one version of the tables to the next, without losing or lowering anything.

Guarantee
    A budget has one version or the next, whenever a process is killed: the statements of a step,
    the new version and the lock on it are one transaction. A step after which an account or a
    charge is missing, smaller, or has another limit is undone and refused. What an account speaks
    of may be respelled, never forgotten.

Why it holds
    Both databases undo changes of tables with the rest of a transaction. What every account allows
    and has spent, and how many charges it has of which sum, is read before and after, inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfumato.accounting.budget.schema import STEPS, Step
from sfumato.core.errors import StorageFailed

if TYPE_CHECKING:
    from sfumato.accounting.budget.store import Row, Store

_ACCOUNTS = """
SELECT id, name, kind, measure, alpha, speaks_of = '', most, spent, most_delta, spent_delta,
  opened, closed FROM account ORDER BY id
"""
_CHARGES = """
SELECT account, state, COUNT(*), CAST(SUM(amount) AS BIGINT), CAST(SUM(delta) AS BIGINT),
  MIN(at), MAX(at) FROM charge GROUP BY account, state ORDER BY account, state
"""


def migrate(store: Store, steps: Sequence[Step] = STEPS) -> None:
    """Take each step that a budget has not taken yet, in a transaction of its own."""
    for step in steps:
        with store.transaction():
            store.has_tables()  # waits for others who are about to take the same step
            [(version,)] = store.run("SELECT schema FROM meta")
            if version == step.to - 1:
                _take(store, step)


def _take(store: Store, step: Step) -> None:
    before = _held_in(store)
    for statement in store.statements(step):
        store.run(statement)
    if step.respell is not None:
        _respell(store, step.respell)
    with _unlocked(store, "meta"):
        store.run("UPDATE meta SET schema = :version", {"version": step.to})
    if _held_in(store) != before:
        raise StorageFailed(
            f"the step to version {step.to} of the budget would have changed accounts or charges; "
            "it was undone, and the budget is as it was"
        )


def _respell(store: Store, respell: Callable[[str], str]) -> None:
    found = store.run("SELECT id, speaks_of FROM account WHERE kind = 'corpus'")
    with _unlocked(store, "account"):
        for number, speaks_of in found:
            values = {"id": number, "speaks_of": respell(speaks_of)}
            store.run("UPDATE account SET speaks_of = :speaks_of WHERE id = :id", values)


@contextmanager
def _unlocked(store: Store, table: str) -> Iterator[None]:
    """Inside a transaction: if anything fails, the lock was never open."""
    unlock, lock = store.lock(table)
    store.run(unlock)
    yield
    store.run(lock)


def _held_in(store: Store) -> tuple[list[Row], list[Row]]:
    return (
        [tuple(_plain(value) for value in row) for row in store.run(_ACCOUNTS)],
        [tuple(row) for row in store.run(_CHARGES)],
    )


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value
