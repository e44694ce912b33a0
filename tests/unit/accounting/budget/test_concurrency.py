"""Many at once, and killed at any moment: granted is what the limit allows, released is charged."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from budget_claims import pure
from forked import granted, in_a_child
from sfumato.accounting.budget import Budget, Limit
from sfumato.accounting.budget.shared import Request
from sfumato.accounting.budget.sqlite import SqliteStore
from sfumato.accounting.budget.store import Entry
from sfumato.core.errors import BudgetExceeded, StorageFailed

NAME = "corpus:tickets"
PROCESSES, TRIES, ALLOWED = 8, 6, 20


def test_processes_that_charge_at_once_are_granted_exactly_the_limit(
    budget: Budget, place: str, key_file: Path
) -> None:
    budget.open(NAME, Limit.of("level", float(ALLOWED)))

    def charge(process: int) -> int:
        got = 0
        with Budget.at(place, key_file) as mine:
            for number in range(TRIES):
                try:
                    mine.charge(NAME, pure(1.0), Request(f"{process}-{number}"))
                except BudgetExceeded:
                    continue
                got += 1
        return got

    children = [in_a_child(lambda n=one: charge(n)) for one in range(PROCESSES)]  # type: ignore[misc]
    assert granted(children) == ALLOWED
    account = budget.show(NAME)
    assert (account.charges, account.left.units) == (ALLOWED, 0)


def test_a_key_sent_by_many_at_once_is_charged_once(
    budget: Budget, place: str, key_file: Path
) -> None:
    budget.open(NAME, Limit.of("level", 100.0))

    def charge() -> int:
        with Budget.at(place, key_file) as mine:
            made = [
                mine.charge(NAME, pure(1.0), Request(f"k{number}"), outcome=str(os.getpid()))
                for number in range(TRIES)
            ]
        return sum(not one.repeated for one in made)

    assert granted([in_a_child(charge) for _ in range(PROCESSES)]) == TRIES
    assert budget.show(NAME).charges == TRIES


class ReadsThenWrites(SqliteStore):
    """A twin: it reads the sum, and writes what it should be then."""

    statement = "UPDATE account SET spent = :spent WHERE name = :name RETURNING id"

    def in_steps(self, entry: Entry) -> Iterator[None]:
        [(spent, most)] = self.run(
            "SELECT spent, most FROM account WHERE name = :name", {"name": entry.account}
        )
        yield
        if spent + entry.amount.units <= most:
            values = entry.values() | {"spent": spent + entry.amount.units}
            self.run(self.statement, values)
            yield


class ReadsThenAdds(ReadsThenWrites):
    """A twin: it reads the sum, and adds to whatever it is then."""

    statement = "UPDATE account SET spent = spent + :amount WHERE name = :name RETURNING id"


def two_at_once(twin: type[ReadsThenWrites], budget: Budget, path: str) -> int:
    """How often two charges are granted that both read before either writes."""
    from sfumato.accounting.budget.amounts import Amount

    entry = Entry(
        account=budget._store.accounts()[0][0], key="k", request=b"", amount=Amount(10**9),
        held=False, guarantee="{}", speaks_of="{}", outcome=None, at="now",
    )  # fmt: skip
    both = [twin(Path(path)).in_steps(entry) for _ in range(2)]
    for one in both:
        next(one)
    return sum(1 for one in both for _ in one)


def test_the_false_ways_to_update_are_found_out(tmp_path: Path, key_file: Path) -> None:
    path = str(tmp_path / "budget.db")
    with Budget.at(path, key_file, new=True) as budget:
        budget.open(NAME, Limit.of("level", 1.0))
        assert two_at_once(ReadsThenWrites, budget, path) == 2  # twice the limit
    path = str(tmp_path / "other.db")
    with Budget.at(path, key_file, new=True) as budget:
        budget.open(NAME, Limit.of("level", 1.0))
        with pytest.raises(StorageFailed, match="refused"):  # the CHECK of the table
            two_at_once(ReadsThenAdds, budget, path)


@pytest.mark.parametrize("first", ["charge", "send"])
def test_nothing_is_released_that_is_not_charged(
    budget: Budget, place: str, key_file: Path, first: str
) -> None:
    """Processes are killed right after they have sent something; the twin sends before it pays."""
    budget.open(NAME, Limit.of("level", 1000.0))
    released: list[str] = []
    for round_ in range(4):
        reading, writing = os.pipe()
        key = f"round {round_}"

        def work(key: str = key, out: int = writing) -> int:
            with Budget.at(place, key_file) as mine:
                steps: dict[str, Callable[[], object]] = {
                    "charge": lambda: mine.charge(NAME, pure(1.0), Request(key), outcome="soft"),
                    "send": lambda: os.write(out, key.encode() + b"\n"),
                }
                steps[first]()
                if first == "send":
                    signal.pause()
                steps["send" if first == "charge" else "charge"]()
                signal.pause()
            return 0

        child = in_a_child(work)
        os.close(writing)
        with os.fdopen(reading) as sent:
            released.append(sent.readline().strip())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    charged = {key for key in released if budget._store.stored(_code(budget), key)}
    assert (charged == set(released)) == (first == "charge")


def _code(budget: Budget) -> bytes:
    return budget._store.accounts()[0][0]
