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
        self.size = size
        self.barrier = threading.Barrier(size)
        self.said: list[Any] = [None] * size
        # One member at a time: torch has one stream of random numbers for all threads.
        self.turn = threading.Lock()
        self.sums = 0

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """What everybody has said."""
        try:
            self.said[rank] = value
            self.turn.release()
            self.barrier.wait(SECONDS)
            found = list(self.said)
            self.barrier.wait(SECONDS)
        except threading.BrokenBarrierError:
            raise ProcessLost("another member has ended") from None
        finally:
            self.turn.acquire()
        return found


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
    """What each member returns, or the error that it ends with; one that ends breaks the table."""
    table = Table(size)
    found: list[Any] = [None] * size

    def one(rank: int) -> None:
        try:
            with table.turn, working_in(member(rank, table)) as team:
                found[rank] = work(team)
        except Exception as error:
            found[rank] = error
            table.barrier.abort()

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
