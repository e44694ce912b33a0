"""Many processes charge one account, are killed, and send the same key at once.

Both databases write to their disk before they answer. Of the charges that many processes try at
once, no more may be granted than the limit allows; two false ways to update, on a table of their
own without checks, are granted more. Speed and the slowest hundredth of charges are ratios to one
client in the same run. Processes are killed when something of theirs has just arrived, after a
random time: what they have sent must have been charged, and the twin sends first.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import select
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles
from threading import Thread
from typing import Any

from benchmarks.timing import Row, by_turns
from sfumato.accounting.budget import Budget, Claim, Limit, Request
from sfumato.core.errors import BudgetExceeded
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.guarantees.guarantee import LACKS_ONE, Guarantee, Notion
from sfumato.releases.job import Job, run_job
from sfumato.releases.payment import Payment
from sfumato.releases.privatizer import Privatizer

NAME = "corpus:tickets"
CLAIM = Claim(
    Guarantee(
        notion=Notion.PURE_DP,
        unit="example",
        neighbors=LACKS_ONE.format(unit="example"),
        epsilon=1.0,
    )
)


@dataclass(frozen=True)
class Size:
    """How many of everything."""

    processes: int
    tries: int
    limit: int
    alone: int
    rounds: int
    keys: int
    lines: int


FULL, QUICK = Size(64, 40, 1000, 400, 40, 960, 100), Size(8, 10, 40, 40, 4, 40, 30)


def run(quick: bool) -> list[Row]:
    """Both databases, one after the other."""
    size = QUICK if quick else FULL
    rows: list[Row] = []
    for name, opened in (("SQLite", _sqlite), ("PostgreSQL", _postgres)):
        with opened() as place:
            if place is None:
                rows.append({"database": name, "what": "not here: NOT MEASURED"})
                continue
            rows += [{"database": name} | row for row in _measured(place, size)]
    return rows


def _measured(place: Place, size: Size) -> Iterator[Row]:
    tries = size.processes * size.tries
    asked = f"{tries:,} tries of {size.processes} processes, limit {size.limit:,}"
    for way in ("read, then write", "read, then add"):
        yield {"what": f"{way} (false)", "asked": asked, "granted": place.falsely(way, size)}
    budget = place.budget("granted", size.limit)
    granted = sum(one["granted"] for one in _at_once(_charging(budget, size.tries), size.processes))
    with budget.opened() as opened:
        charged = opened.show(NAME).charges
    yield {"what": "a budget", "asked": asked, "granted": f"{granted:,} ({charged:,} charges)"}
    yield _speed(place, size)
    yield from (_killed(place, size.rounds, first) for first in ("charge", "send"))
    yield _same_keys(place, size.keys)
    yield _stream(place, size)


def _speed(place: Place, size: Size) -> Row:
    """Without a limit, so that every try is a charge."""
    one = place.budget("alone", None)
    alone = _rate(_at_once(_charging(one, size.alone), 1))
    many = place.budget("many", None)
    together = _rate(_at_once(_charging(many, size.tries), size.processes))
    return {
        "what": f"speed of {size.processes} processes",
        "charges/s": f"{together[0]:.0f} (1 client: {alone[0]:.0f})",
        "ratio": f"{together[0] / alone[0]:.2f}",
        "p99": f"{together[1]:.2f} s (1 client: {alone[1]:.3f} s)",
        "p99, ratio": f"{together[1] / alone[1]:.0f}",
    }


def _killed(place: Place, rounds: int, first: str) -> Row:
    budget = place.budget(f"killed-{first}", None)
    chance = random.Random(20260301)  # when to kill, not what to draw
    released: list[str] = []
    for number in range(rounds):
        released += _kill_one(budget, f"{number}", first, chance.uniform(0.05, 0.4))
    with budget.opened() as opened:
        charged = {row[0] for row in opened._store.run("SELECT key FROM charge")}
    lost = len(charged - set(released))
    return {
        "what": f"killed {rounds} times, {first} first" + (" (false)" * (first == "send")),
        "asked": f"{len(released):,} released",
        "granted": f"{len(set(released) - charged):,} not charged, {lost:,} charged and lost",
    }


def _kill_one(budget: Address, round_: str, first: str, after: float) -> list[str]:
    reading, writing = os.pipe()

    def work() -> None:
        with budget.opened() as opened:
            for number in range(10**6):
                key = f"{round_}-{number}"
                steps: list[Callable[[], object]] = [
                    lambda key=key: opened.charge(NAME, CLAIM, Request(key), outcome="soft"),  # type: ignore[misc]
                    lambda key=key: os.write(writing, f"{key}\n".encode()),  # type: ignore[misc]
                ]
                for step in steps if first == "charge" else reversed(steps):
                    step()

    child = _forked(work)
    os.close(writing)
    found = b""
    until = time.perf_counter() + after
    # Killed at the moment at which something arrives: who has not paid for it by then never will.
    while time.perf_counter() < until or not found:
        select.select([reading], [], [])
        found += os.read(reading, 1 << 16)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as sent:
        return (found + sent.read()).decode().split()


def _same_keys(place: Place, keys: int) -> Row:
    budget = place.budget("keys", None)

    def work() -> dict[str, Any]:
        with budget.opened() as opened:
            made = [opened.charge(NAME, CLAIM, Request(f"k{one}")) for one in range(keys)]
        return {"granted": sum(not one.repeated for one in made)}

    granted = sum(one["granted"] for one in _at_once(lambda _: work(), 2))
    with budget.opened() as opened:
        charged = opened.show(NAME).charges
    return {
        "what": f"{keys:,} keys, each sent by two clients at once",
        "asked": f"{2 * keys:,} requests",
        "granted": f"{granted:,} ({charged:,} charges)",
    }


def _stream(place: Place, size: Size) -> Row:
    """Lines of many authors through a pipe, each charged before it goes on, or not at all."""
    budget = place.budget("stream", None)
    paid = Payment(budget.place, "author:user", budget.key, author_limit=1e6)
    lines = b"".join(
        b'{"user": "u-%d", "text": "Ann Smith came to Boston on 3 May 2021."}\n' % (one % 20)
        for one in range(size.lines)
    )
    work = {"free": partial(_follow, lines, None), "charged": partial(_follow, lines, paid)}
    times = by_turns(work, 3 if size is FULL else 1)
    return {
        "what": "privatize --follow, lines/s",
        "asked": f"{size.lines:,} lines of 20 authors",
        "charges/s": f"{times['charged'].rate(size.lines)}; free: {times['free'].rate(size.lines)}",
        "ratio": times["charged"].ratio(times["free"]),
    }


def _follow(lines: bytes, payment: Payment | None) -> None:
    reading, writing = os.pipe()
    sender = Thread(target=_send, args=(writing, lines))
    sender.start()
    layout = Layout(author_field="user", keep=("user",), others=True, live=True)
    source = Source.of(f"/dev/fd/{reading}", layout, file_format="jsonl")
    run_job(Job(source=source, target=Path("/dev/null"), payment=payment), Privatizer())
    sender.join()
    os.close(reading)


def _send(writing: int, lines: bytes) -> None:
    with os.fdopen(writing, "wb") as out:
        out.write(lines)


def _charging(budget: Address, tries: int) -> Callable[[int], dict[str, Any]]:
    def work(process: int) -> dict[str, Any]:
        granted, taken = 0, []
        with budget.opened() as opened:
            begun = time.perf_counter()
            for number in range(tries):
                before = time.perf_counter()
                try:
                    opened.charge(NAME, CLAIM, Request(f"{process}-{number}"))
                    granted += 1
                except BudgetExceeded:
                    continue
                finally:
                    taken.append(time.perf_counter() - before)
            ended = time.perf_counter()
        return {"granted": granted, "taken": taken, "begun": begun, "ended": ended}

    return work


def _rate(found: list[dict[str, Any]]) -> tuple[float, float]:
    """Charges per second, and the time that 99 of 100 need at most."""
    taken = [one for each in found for one in each["taken"]]
    lasted = max(one["ended"] for one in found) - min(one["begun"] for one in found)
    return len(taken) / lasted, quantiles(taken, n=100)[98]


def _at_once(work: Callable[[int], dict[str, Any]], processes: int) -> list[dict[str, Any]]:
    """What each of some processes returns; all of them begin when the last is there."""
    gate, opened = os.pipe()
    pipes: list[tuple[int, int]] = []
    for number in range(processes):
        reading, writing = os.pipe()

        def begin(number: int = number, writing: int = writing) -> None:
            os.close(opened)
            os.read(gate, 1)  # ends when the gate is opened
            with os.fdopen(writing, "w") as out:
                json.dump(work(number), out)

        pipes.append((reading, _forked(begin)))
        os.close(writing)
    os.close(gate)
    os.close(opened)
    found = []
    for reading, child in pipes:
        with os.fdopen(reading) as given:
            found.append(json.loads(given.read()))
        os.waitpid(child, 0)
    return found


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


@dataclass(frozen=True)
class Address:
    """Where a budget is, and its key."""

    place: str
    key: Path

    def opened(self) -> Budget:
        """The budget, in this process."""
        return Budget.at(self.place, self.key)


@dataclass(frozen=True)
class Place:
    """A database in which budgets can be made, in a folder of its own."""

    folder: Path
    url: str | None = None

    def budget(self, name: str, limit: int | None) -> Address:
        """A new budget with one account."""
        key = self.folder / "budget.key"
        key.write_text(secrets.token_hex(32))
        place = str(self.folder / f"{name}.db") if self.url is None else self._new_database()
        with Budget.at(place, key, new=True) as made:
            made.open(NAME, Limit.of("level", float("inf") if limit is None else float(limit)))
        kept = key.rename(self.folder / f"{name}.key")
        return Address(place, kept)

    def falsely(self, way: str, size: Size) -> int:
        """How many charges a false way to update grants, on a table without checks."""
        relative = way == "read, then add"
        place = str(self.folder / f"false-{secrets.token_hex(4)}.db")
        place = place if self.url is None else self._new_database()
        with _plain(place) as run:
            run("CREATE TABLE account (spent BIGINT, most BIGINT)")
            run(f"INSERT INTO account VALUES (0, {size.limit})")

        def work(_: int) -> dict[str, Any]:
            granted = 0
            with _plain(place) as run:
                for _ in range(size.tries):
                    [(spent, most)] = run("SELECT spent, most FROM account")
                    if spent < most:
                        now = "spent + 1" if relative else f"{spent + 1}"
                        run(f"UPDATE account SET spent = {now}")
                        granted += 1
            return {"granted": granted}

        return sum(one["granted"] for one in _at_once(work, size.processes))

    def _new_database(self) -> str:
        import psycopg

        assert self.url is not None
        name = f"budget_{secrets.token_hex(6)}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url.replace("/postgres?", f"/{name}?")


@contextmanager
def _plain(place: str) -> Iterator[Callable[[str], list[Any]]]:
    """Statements that each count by themselves."""
    if place.startswith("postgresql"):
        import psycopg

        with psycopg.connect(place, autocommit=True) as connection:
            yield (
                lambda asked: (
                    found.fetchall()
                    if (found := connection.execute(asked.encode())).description
                    else []
                )
            )
        return
    file = sqlite3.connect(place, timeout=600, isolation_level=None)
    file.execute("PRAGMA journal_mode = WAL")
    try:
        yield lambda asked: file.execute(asked).fetchall()
    finally:
        file.close()


@contextmanager
def _sqlite() -> Iterator[Place | None]:
    folder = Path(tempfile.mkdtemp(prefix="sfumato-budget-"))
    try:
        yield Place(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _postgres() -> Iterator[Place | None]:
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    import postgres_server

    if postgres_server.missing():
        yield None
        return
    with postgres_server.server(durable=True) as url, _sqlite() as place:
        assert place is not None
        yield Place(place.folder, url)
