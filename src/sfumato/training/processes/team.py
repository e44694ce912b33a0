"""The processes that train one model together.

A ``Team`` is what training needs of them, and no more: a sum over all, what the first one says, and
what each of them says. ``Alone`` is the team of one process, for which all of it does nothing, so
that the loop is the same code. ``group`` has the team that torch's processes are.

Guarantee
    None of its own. Whoever trains is trusted: see ``sums`` for what goes between the processes.

Care
    Every process must call the same methods in the same order. What may fail in one of them comes
    before a meeting (``meetings``), where the others hear of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeVar

from sfumato.core.randomness import Randomness

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")

_LARGEST_KEY = 2**62


class Team(Protocol):
    """Some processes; ``rank`` is the number of this one, from 0, and ``size`` how many there are.

    Rank 0 leads: it has the folder of the run, its ledger and its checkpoints, and it alone speaks.
    """

    @property
    def rank(self) -> int:
        """The number of this process."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def add(self, numbers: Tensor) -> None:
        """Put the sum over all processes in the place of the numbers of this one.

        All processes get the same bits, or an error.
        """

    def copy(self, numbers: Tensor) -> None:
        """Put the numbers of the leading process in their place."""

    def gather(self, numbers: Sequence[float]) -> list[tuple[float, ...]]:
        """A few numbers of every process, by rank; everybody gives as many."""

    def collect(self, value: T) -> list[T]:
        """A value of every process, by rank."""

    def tell(self, value: T) -> T:
        """The value of the leading process."""


class Alone:
    """A team of one process."""

    rank, size = 0, 1

    def add(self, numbers: Tensor) -> None:
        """The sum over one is there already."""

    def copy(self, numbers: Tensor) -> None:
        """So are its numbers."""

    def gather(self, numbers: Sequence[float]) -> list[tuple[float, ...]]:
        """Those of this process."""
        return [tuple(numbers)]

    def collect(self, value: T) -> list[T]:
        """That of this process."""
        return [value]

    def tell(self, value: T) -> T:
        """What this process says."""
        return value


ALONE = Alone()
_TEAM: ContextVar[Team] = ContextVar("the team that trains", default=ALONE)


def current_team() -> Team:
    """The team that this process trains in; of one, unless ``working_in`` says otherwise."""
    return _TEAM.get()


@contextmanager
def working_in(team: Team) -> Iterator[Team]:
    """Within this block, train in this team."""
    token = _TEAM.set(team)
    try:
        yield team
    finally:
        _TEAM.reset(token)


def leads(team: Team) -> bool:
    """Whether this process has the folder of the run and speaks."""
    return team.rank == 0


def own_stream(team: Team, randomness: Randomness) -> Randomness:
    """A stream that no other process of the team draws from, with a seed or without one."""
    return randomness if leads(team) else randomness.stream(team.rank)


def shared_stream(team: Team, randomness: Randomness) -> Randomness:
    """A stream that is the same in all processes, for what is public, such as an order.

    Without a seed every process has a key of its own, so the first one draws a number for all.
    """
    if team.size == 1 or randomness.seed is not None:
        return randomness
    return Randomness.reproducible(team.tell(int(randomness.integers(_LARGEST_KEY, 1)[0])))
