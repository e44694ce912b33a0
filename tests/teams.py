"""Teams of processes for tests: threads in lock step, each with a team of its own."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from sfumato.core.errors import ProcessLost
from sfumato.training.processes.team import Team, working_in

T = TypeVar("T")
# Long enough for any machine: it is there to end a deadlock.
SECONDS = 600.0


class Table:
    """Where the members of a team put what they say, and wait for the others."""

    def __init__(self, size: int) -> None:
        self.size, self.sums = size, 0
        self.rounds: list[dict[int, Any]] = []
        self.come = [0] * size
        self.gone: set[int] = set()
        # One member works at a time: torch has one stream of random numbers for all threads.
        self.turn = threading.Condition()

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """What everybody has said in this round; an error if somebody has ended before."""
        number = self.come[rank]
        self.come[rank] += 1
        if number == len(self.rounds):
            self.rounds.append({})
        said = self.rounds[number]
        said[rank] = value
        self.turn.notify_all()

        def ready() -> bool:
            return len(said) == self.size or any(one not in said for one in self.gone)

        if not self.turn.wait_for(ready, SECONDS) or len(said) < self.size:
            raise ProcessLost("another member has ended")
        return [said[one] for one in range(self.size)]

    def leave(self, rank: int) -> None:
        """A member has ended."""
        self.gone.add(rank)
        self.turn.notify_all()


class Threads:
    """A member of a team whose processes are threads."""

    def __init__(self, rank: int, table: Table) -> None:
        self.rank, self.size, self.table = rank, table.size, table

    def add(self, numbers: Tensor) -> None:
        self.table.sums += self.rank == 0
        found = self.table.exchange(self.rank, numbers.clone())
        assert {one.shape for one in found} == {numbers.shape}
        numbers.copy_(torch.stack(found).sum(0))

    def copy(self, numbers: Tensor) -> None:
        numbers.copy_(self.table.exchange(self.rank, numbers.clone())[0])

    def gather(self, numbers: Sequence[float]) -> list[tuple[float, ...]]:
        rows = self.table.exchange(self.rank, tuple(map(float, numbers)))
        assert len({len(row) for row in rows}) == 1
        return rows

    def collect(self, value: T) -> list[T]:
        return copy.deepcopy(self.table.exchange(self.rank, value))

    def tell(self, value: T) -> T:
        return copy.deepcopy(self.collect(value)[0])


def run_as_team(
    size: int,
    work: Callable[[Team], T],
    member: Callable[[int, Table], Team] = Threads,
) -> list[T | Exception]:
    """What each member returns, or the error that it ends with."""
    table = Table(size)
    found: list[Any] = [None] * size

    def one(rank: int) -> None:
        with table.turn:
            try:
                with working_in(member(rank, table)) as team:
                    found[rank] = work(team)
            except Exception as error:
                found[rank] = error
            table.leave(rank)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    return found


def all_done(found: list[T | Exception]) -> list[T]:
    """What all have returned, if none has failed."""
    for one in found:
        if isinstance(one, Exception):
            raise one
    return [one for one in found if not isinstance(one, Exception)]
