"""A service that is ended in the middle of its work, again and again, and what is left of it.

Some threads release texts under keys that they note before they send them. Then the process gets a
signal. Afterwards another process is asked what became of each key.
"""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sfumato import Budget, Client
from sfumato.client import Released
from sfumato.core.errors import ServiceUnavailable

ACCOUNT = "text:memo"
TEXT = "Room 12, number 145572."
THREADS = 3
EPSILON = 1.0


class Process(Protocol):
    """What is needed of a process."""

    def send_signal(self, number: int, /) -> None:
        """Send it."""

    def wait(self) -> int:
        """Its exit code."""


Start = Callable[[], AbstractContextManager[tuple[Process, str]]]


@dataclass
class Ledger:
    """What callers know: every key that was sent, and the text that came for it."""

    sent: list[str] = field(default_factory=list)
    answered: dict[str, str] = field(default_factory=dict)
    codes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Verdict:
    """How it came out; ``recovered`` are those that were charged and had not been answered."""

    sent: int
    answered: int
    charged: int
    recovered: int
    uncharged: int  # released without a charge: there must be none
    changed: int  # had again as another text: there must be none


def release(client: Client, key: str) -> Released:
    """One release under its key."""
    return client.privatize(
        TEXT, account=ACCOUNT, key=key, policy="digits", mechanism="number", epsilon=EPSILON
    )


def end_in_the_middle(
    start: Start, token: str, ledger: Ledger, how: signal.Signals, after: int
) -> None:
    """Run a service until so many answers have come, and end it while others are under way."""
    with start() as (process, url):
        numbers, enough = itertools.count(len(ledger.sent)), threading.Semaphore(0)
        lock = threading.Lock()

        def work() -> None:
            with Client(url, token, retries=0) as client:
                while True:
                    with lock:
                        key = f"k{next(numbers)}"
                        ledger.sent.append(key)
                    try:
                        text = release(client, key).text
                    except ServiceUnavailable:
                        return
                    ledger.answered[key] = text
                    enough.release()

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for one in threads:
            one.start()
        for _ in range(after):
            enough.acquire()
        process.send_signal(how)
        for one in threads:
            one.join()
        ledger.codes.append(process.wait())


def judge(start: Start, token: str, ledger: Ledger, place: str, key: Path) -> Verdict:
    """Ask a new process for everything that was charged."""
    with Budget.at(place, key) as budget:
        charged = budget.show(ACCOUNT).charges
    with start() as (process, url), Client(url, token) as client:
        again = {one: release(client, one) for one in ledger.answered}
        lost = [one for one in ledger.sent if one not in ledger.answered]
        recovered = sum(release(client, one).repeated for one in lost)
        process.send_signal(signal.SIGTERM)
        ledger.codes.append(process.wait())
    return Verdict(
        sent=len(ledger.sent),
        answered=len(ledger.answered),
        charged=charged,
        recovered=recovered,
        uncharged=sum(not one.repeated for one in again.values()),
        changed=sum(one.text != ledger.answered[name] for name, one in again.items()),
    )
