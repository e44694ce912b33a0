"""Budgets of older versions: they grow, lose nothing, and are never found half-way."""

from __future__ import annotations

import os
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from budget_claims import approximate, metric, pure
from forked import in_a_child
from sfumato.accounting.budget import Amount, Budget, Claim
from sfumato.accounting.budget.migration import migrate
from sfumato.accounting.budget.schema import VERSION, Step
from sfumato.accounting.budget.shared import Request
from sfumato.accounting.budget.store import Store
from sfumato.core.errors import (
    BudgetExceeded,
    CannotUnseal,
    IncomparableGuarantees,
    InvalidArgument,
    StorageFailed,
)

OLD = Path(__file__).parents[3] / "data" / "budget-version-1"
KEY = "a key that tests of old budgets share, and nobody else"


@pytest.fixture
def old(place: str, tmp_path: Path) -> str:
    """A budget as version 1 has made it, with a charge, a hold, and accounts of all kinds."""
    (tmp_path / "old.key").write_text(KEY)
    if place.startswith("postgresql"):
        import psycopg

        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute((OLD / "postgres.sql").read_bytes())
    else:
        connection_ = sqlite3.connect(place)
        connection_.executescript((OLD / "sqlite.sql").read_text())
        connection_.close()
    return place


@pytest.fixture
def old_key(tmp_path: Path) -> Path:
    return tmp_path / "old.key"


def store_at(place: str) -> Store:
    if place.startswith("postgresql"):
        from sfumato.accounting.budget.postgres import PostgresStore

        return PostgresStore(place)
    from sfumato.accounting.budget.sqlite import SqliteStore

    return SqliteStore(Path(place))


def version_of(store: Store) -> int:
    found: int = store.run("SELECT schema FROM meta")[0][0]
    return found


def content(store: Store) -> list[Any]:
    rows = [
        *store.run("SELECT * FROM account ORDER BY id"),
        *store.run("SELECT * FROM charge ORDER BY account, key"),
    ]
    return [[bytes(one) if isinstance(one, memoryview) else one for one in row] for row in rows]


def test_an_old_budget_grows_and_keeps_everything(old: str, old_key: Path) -> None:
    store = store_at(old)
    before = content(store)
    assert (version_of(store), len(before)) == (1, 7)
    with Budget.at(old, old_key) as budget:
        assert version_of(store) == VERSION > 1
        assert [row for row in content(store) if row[2] != "corpus"] == [
            row for row in before if row[2] != "corpus"
        ]
        assert [row[:5] + row[6:] for row in content(store)] == [
            row[:5] + row[6:] for row in before
        ]
        account = budget.show("corpus:tickets")
        assert (account.spent.level, account.held.level, account.charges) == (3.5, 2.0, 2)
        with pytest.raises(InvalidArgument, match="another request"):  # it spoke in other words
            budget.charge("corpus:tickets", approximate(1.5, 1e-6), Request("a", "x"))
        budget.charge("corpus:tickets", approximate(1.0, 1e-6), Request("b"))
        other = Claim(replace(pure(1.0).guarantee, neighbors="two other corpora"))
        with pytest.raises(IncomparableGuarantees, match="another neighbors"):
            budget.charge("corpus:tickets", other, Request("c"))
        again = budget.charge("author:u-17", metric(5.0, words=4), Request("line-1"))
        assert again.repeated
        assert budget.settle("corpus:tickets", "run").held == Amount(0)
        with pytest.raises(BudgetExceeded):
            budget.charge("author:u-17", metric(5.0, words=3), Request("line-2"))
        assert budget.show("corpus:old").closed is not None
    with pytest.raises(StorageFailed, match="stays as it is"):
        store.run("UPDATE meta SET schema = 1")  # the version is locked again
    with pytest.raises(StorageFailed, match="stays as it is"):
        store.run("UPDATE account SET speaks_of = 'something else' WHERE id = 1")
    store.close()


def test_what_grew_has_the_tables_of_what_is_new(tmp_path: Path, old_key: Path) -> None:
    old_key.write_text(KEY)
    grown = sqlite3.connect(tmp_path / "grown.db")
    grown.executescript((OLD / "sqlite.sql").read_text())
    for name in ("grown.db", "new.db"):
        Budget.at(tmp_path / name, old_key, new=True).close()
    asked = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    tables = [
        [(kind, name, " ".join((sql or "").split())) for kind, name, sql in one.execute(asked)]
        for one in (grown, sqlite3.connect(tmp_path / "new.db"))
    ]
    assert tables[0] == tables[1]


def test_another_key_or_a_later_version_changes_nothing(
    old: str, old_key: Path, key_file: Path
) -> None:
    with pytest.raises(CannotUnseal):
        Budget.at(old, key_file)
    store = store_at(old)
    assert version_of(store) == 1
    with Budget.at(old, old_key):
        migrate(store, [Step(VERSION + 1, (), ())])
    with pytest.raises(StorageFailed, match=f"has version {VERSION + 1} .* use a newer program"):
        Budget.at(old, old_key)
    store.close()


LOSSES = {
    "it is forgotten of what it speaks": "UPDATE account SET speaks_of = '' WHERE id = 2",
    "a limit is raised": "UPDATE account SET most = most + 1 WHERE id = 1",
    "something is given back": "UPDATE account SET spent = spent - 1 WHERE id = 1",
    "a charge is lost": "DELETE FROM charge WHERE state = 'held'",
    "a charge is made smaller": "UPDATE charge SET amount = amount - 1 WHERE account = 2",
}


def test_a_step_that_loses_or_lowers_anything_is_undone(old: str, old_key: Path) -> None:
    """The twins of a good step take the locks away first, as a step that copies tables would."""
    store = store_at(old)
    before = content(store)
    tables = ("account", "charge")
    by_sqlite = [f"DROP TRIGGER {one}_{what}" for one in tables for what in ("changed", "deleted")]
    by_postgres = [f"DROP TRIGGER {one}_changed ON {one}" for one in tables]
    for loss in LOSSES.values():
        with pytest.raises(StorageFailed, match="it was undone"):
            migrate(store, [Step(2, (*by_sqlite, loss), (*by_postgres, loss))])
        assert (version_of(store), content(store)) == (1, before)
    store.close()
    with Budget.at(old, old_key) as budget:
        assert budget.show("author:u-17").spent.level == 20.0


def test_a_migration_that_is_killed_leaves_the_version_of_before(
    old: str, old_key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_at(old)
    before = content(store)
    store.close()

    def killed() -> int:
        run = type(store).run

        def stop(self: Store, statement: str, values: Any = None) -> Any:
            found = run(self, statement, values)
            if statement.startswith("UPDATE meta"):
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        monkeypatch.setattr(type(store), "run", stop)
        Budget.at(old, old_key)
        return 0

    ended = os.waitpid(in_a_child(killed), 0)[1]
    assert os.waitstatus_to_exitcode(ended) == -signal.SIGKILL
    assert (version_of(store), content(store)) == (1, before)
    store.close()
    with Budget.at(old, old_key) as budget:
        assert version_of(store) == VERSION
        assert budget.show("corpus:tickets").held.level == 2.0
    store.close()
