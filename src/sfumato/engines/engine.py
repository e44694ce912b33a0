"""What an engine is: it does numbered work somewhere, and gives back counts.

The work is a function of what all workers have in common and of a number: of a chunk, of a cell. It
reads what it needs from files that every worker can read, writes what it makes itself, and returns
counts. So an engine moves numbers, and neither text nor noise. What is released, and when, is
decided by whoever writes the files, and an engine that does a number twice must find that it was
done (``releases.parts``, ``studies.locks``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sfumato.core.checks import MOST_WORKERS, at_least, one_of
from sfumato.core.errors import InvalidArgument

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)

Counts = Mapping[str, int]
"""What work may return: names of counts, and whole numbers."""

NumberedWork = Callable[[Any, int], Counts]
"""A function at the top of a module, of what is shared and a number."""


@runtime_checkable
class Engine(Protocol):
    """Does numbered work with so many workers."""

    @property
    def workers(self) -> int:
        """How many items are worked on at once, at most."""
        ...

    def each(
        self, work: NumberedWork, shared: Any, items: Iterable[int | None], place: Path | None
    ) -> Generator[tuple[int, Counts]]:
        """``work(shared, item)`` for each item, in the order in which they are done.

        None in the place of an item means that there is none now, but may be once others are done.
        An item may be done more than once, also by two at once. ``place`` names a file that every
        worker can read: an engine that needs one writes it, and removes it at the end. Without one
        it is beside the working folder's files, or where only this machine can read it.
        """
        ...


def choose_engine(name: str = LOCAL, address: str | None = None, workers: int = 1) -> Engine:
    """The engine of that name.

    >>> choose_engine("local", workers=2)
    LocalEngine(workers=2)
    """
    one_of("engine", name, ENGINES)
    at_least("workers", workers, 1, MOST_WORKERS)
    if name == RAY:
        from sfumato.engines.on_ray import RayEngine

        return RayEngine(workers=workers, address=address)
    if address is not None:
        raise InvalidArgument("`address=...` is that of a Ray cluster: add `engine='ray'`")
    from sfumato.engines.local import LocalEngine

    return LocalEngine(workers=workers)
