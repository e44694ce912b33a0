"""Whoever does not wait for ever: told that nothing is charged, he is never charged."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from budget_claims import pure
from sfumato.accounting.budget import Budget, Limit
from sfumato.accounting.budget.patience import waiting_for_it
from sfumato.accounting.budget.shared import Request
from sfumato.accounting.budget.sqlite import SqliteStore
from sfumato.core.errors import BudgetBusy, StorageFailed

NAME = "corpus:tickets"
FOR_EVER = 3600.0


class Gone(Exception):
    """He was told that nothing is charged."""


class Caller:
    """Somebody who waits until he was looked at so often, and may have gone by his turn."""

    def __init__(self, looks: int = 10**9, *, gone: bool = False) -> None:
        self.looks, self.gone, self.asked = looks, gone, 0

    def left(self) -> float:
        self.looks -= 1
        return 0.1 if self.looks >= 0 else 0.0

    def begin_charging(self) -> None:
        self.asked += 1
        if self.gone:
            raise Gone


@contextmanager
def kept_by_another(place: str) -> Iterator[None]:
    """Another program holds what a charge needs, until the end."""
    if place.startswith("postgres"):
        import psycopg

        with psycopg.connect(place) as other:
            other.execute("SELECT * FROM account FOR UPDATE")
            yield
            other.rollback()
        return
    holding = sqlite3.connect(place)
    holding.execute("BEGIN IMMEDIATE")
    yield
    holding.rollback()
    holding.close()


def test_who_has_gone_by_his_turn_is_not_charged_and_who_has_not_is(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 10.0))
    works: dict[str, Any] = {
        "charge": lambda: budget.charge(NAME, pure(1.0), Request("k"), outcome="soft"),
        "hold": lambda: budget.hold(NAME, pure(1.0), Request("h")),
        "open": lambda: budget.open("text:t", Limit.of("level", 1.0)),
        "end": lambda: budget.end(NAME),
    }
    before = budget.accounts()
    for work in works.values():
        caller = Caller(gone=True)
        with pytest.raises(Gone), waiting_for_it(caller):
            work()
        assert caller.asked == 1
        assert budget.accounts() == before
    for work in works.values():  # the twin: nobody asks whether he has gone
        with waiting_for_it(Caller()):
            work()
    account = budget.show(NAME)
    assert (account.charges, account.spent.level, account.closed is None) == (2, 2.0, False)
    assert "text" in {one.kind.value for one in budget.accounts().values()}


def test_who_does_not_wait_long_is_told_and_not_charged(budget: Budget, place: str) -> None:
    budget.open(NAME, Limit.of("level", 10.0))
    with kept_by_another(place):
        for looks in (0, 2, 7):
            caller = Caller(looks)
            with pytest.raises(BudgetBusy, match="nothing was charged"), waiting_for_it(caller):
                budget.charge(NAME, pure(1.0), Request("k"))
        assert budget.show(NAME).charges == 0  # reading waits for nobody
    budget.charge(NAME, pure(1.0), Request("k"))
    assert budget.show(NAME).charges == 1


def test_a_thread_that_waits_for_another_of_its_process_can_go(budget: Budget) -> None:
    budget.open(NAME, Limit.of("level", 10.0))
    inside, go = threading.Event(), threading.Event()

    def keep() -> None:
        with budget._store.transaction():
            inside.set()
            assert go.wait(FOR_EVER)

    other = threading.Thread(target=keep)
    other.start()
    assert inside.wait(FOR_EVER)
    with pytest.raises(BudgetBusy), waiting_for_it(Caller(1)), budget._store.transaction():
        pass
    go.set()
    other.join()
    assert budget.charge(NAME, pure(1.0), Request("k")).account.charges == 1


class FullDisk:
    """A connection whose first commit fails and leaves its transaction open."""

    def __init__(self, real: sqlite3.Connection) -> None:
        self.real, self.commits = real, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def commit(self) -> None:
        self.commits += 1
        if self.commits == 1:
            raise sqlite3.OperationalError("database or disk is full")
        self.real.commit()


def test_after_a_commit_that_failed_charges_last(tmp_path: Path, key_file: Path) -> None:
    place = tmp_path / "budget.db"
    with Budget.at(place, key_file, new=True) as budget:
        budget.open(NAME, Limit.of("level", 10.0))
        store = budget._store
        assert isinstance(store, SqliteStore)
        assert store._open is not None
        store._open = store._open[0], FullDisk(store._open[1])  # type: ignore[assignment]
        with pytest.raises(StorageFailed, match="full"):
            budget.charge(NAME, pure(1.0), Request("lost"))
        budget.charge(NAME, pure(2.0), Request("kept"))
        with Budget.at(place, key_file) as another:
            account = another.show(NAME)
            assert (account.charges, account.spent.level) == (1, 2.0)
