"""Numbered work by actors of Ray: on this machine, or on the nodes of a cluster.

Guarantee
    Ray repeats nothing by itself. An item whose actor died is given to another actor, here and
    nowhere else, a limited number of times. Through Ray goes what ``engines.errand`` lists, and
    nothing else: actors are made without arguments, for Ray keeps those; they write to no log.

Why it holds
    Actors have no restarts and their calls no retries, and results are plain counts, of which there
    is nothing to recompute. An actor that Ray believes to be dead may still be at work: the work
    itself must bear that, as ``engines.engine`` says.

Care
    A Ray that is started here has a folder of its own for its owner alone, which is removed with
    it, and needs Ray's token, but it listens on all interfaces of the machine. Messages between
    nodes are encrypted only where Ray is set up for TLS. Statistics of use are off, unless somebody
    else has imported Ray before.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import time
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from sfumato.core.checks import MOST_WORKERS, at_least, extra
from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.progress import announce
from sfumato.engines.engine import Counts, NumberedWork
from sfumato.engines.errand import Doer, Errand, counts_in

# Read by Ray when it is imported or started; what the user has set stays.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
# So many actors may die over one item: whoever kills them so often is the item.
MOST_DEATHS = 5
STORE = 80 << 20  # bytes for Ray's object store, in which we put nothing
LONGEST_FOLDER = 24  # the name of a socket in it must not be too long
TICK = 1.0  # seconds after which an interrupt is seen at the latest
ANSWER = 10.0  # seconds for a cluster to accept a connection
FAREWELL = 10.0  # seconds for actors to end
PATIENCE = 60  # ticks without an actor until somebody is told


@dataclass(frozen=True, kw_only=True)
class RayEngine:
    """Numbered work by so many actors of Ray, each with one processor.

    Without an ``address`` a Ray of our own is started on this machine, and ended; with one (such as
    "10.0.0.5:6379", or "auto" on a node of a cluster) the cluster there does the work. A process
    that is connected already keeps its connection.
    """

    workers: int = 1
    address: str | None = None

    def __post_init__(self) -> None:
        at_least("workers", self.workers, 1, MOST_WORKERS)
        if find_spec("ray") is None:  # said before anything else is missed
            extra("ray", needed_for="`engine='ray'`", extra="ray")
        if self.address is not None and self.address.startswith("ray://"):
            raise InvalidArgument(
                "`address=...` is that of the cluster itself, such as '10.0.0.5:6379', not of its "
                "server for clients (ray://)"
            )

    def each(
        self, work: NumberedWork, shared: Any, items: Iterable[int | None], place: Path | None
    ) -> Generator[tuple[int, Counts]]:
        """``work(shared, item)`` for each item, in the order in which they are done."""
        with (
            self._place(place) as where,
            Errand.sealed(work, shared, where) as errand,
            connected(self.address, self.workers) as ray,
        ):
            crew = _Crew(ray, errand, self.workers)
            try:
                yield from crew.each(iter(items))
            finally:
                crew.dismiss()

    @contextmanager
    def _place(self, given: Path | None) -> Iterator[Path]:
        """Where what is sealed lies: nodes share the working folder, or there is one machine."""
        if given is not None:
            yield given
        elif self.address is not None:
            yield Path.cwd() / f".sfumato-{secrets.token_hex(8)}"
        else:
            with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
                yield Path(folder) / "errand"


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[ModuleType]:
    """Ray, connected; what was started here is ended here."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    ray = extra("ray", needed_for="`engine='ray'`", extra="ray")
    if ray.is_initialized():
        yield ray
        return
    if address is None:
        announce("starting Ray on this machine")
    else:
        _refuse_silence(address)
    folder = _folder() if address is None else None
    try:
        with _unreachable(address):
            if address is None:
                ray.init(
                    address="local",  # not one that somebody else has started
                    num_cpus=workers,
                    include_dashboard=False,
                    object_store_memory=STORE,
                    log_to_driver=False,
                    configure_logging=False,
                    _node_ip_address="127.0.0.1",
                    # Ray opens its folder to everybody; the one around it stays closed.
                    _temp_dir=None if folder is None else str(folder / "ray"),
                )
            else:
                ray.init(address=address, log_to_driver=False, configure_logging=False)
        yield ray
    finally:
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _refuse_silence(address: str) -> None:
    """Ray would try for minutes where nobody answers."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return  # such as "auto"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER).close()
    except (OSError, OverflowError):
        raise StorageFailed(
            f"nobody answers at {address}: is it the address of a Ray cluster?"
        ) from None


def _folder() -> Path | None:
    """A folder for Ray's logs and sockets, for its owner alone; Ray's own if names get too long."""
    if len(tempfile.gettempdir()) > LONGEST_FOLDER:
        return None
    return Path(tempfile.mkdtemp(prefix="sfumato-"))


@contextmanager
def _unreachable(address: str | None) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        where = "on this machine" if address is None else f"at {address}"
        raise StorageFailed(f"cannot work with Ray {where}: {type(error).__name__}") from error


class _Actor(Doer):
    """A doer whose process writes to no log: a warning of some library may quote text."""

    def __init__(self) -> None:
        super().__init__()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        os.close(nowhere)


_BEGINS, _END = -1, -2  # in the place of an item: an errand is opened; there are no more


@dataclass
class _Crew:
    """Actors with one item each; those that die are replaced."""

    ray: ModuleType = field(repr=False)
    errand: Errand = field(repr=False)
    workers: int
    actors: list[Any] = field(default_factory=list)
    under_way: dict[Any, tuple[Any, int]] = field(default_factory=dict)
    deaths: Counter[int] = field(default_factory=Counter)
    idle: deque[Any] = field(default_factory=deque)
    waiting: deque[int] = field(default_factory=deque)  # taken, or given back by a death
    more: bool = True
    waited: int = 0

    def each(self, items: Iterator[int | None]) -> Generator[tuple[int, Counts]]:
        """Hand out items until all of them are done."""
        while self._hand_out(items):
            for one in self._wait():
                actor, item = self.under_way.pop(one)
                found = self._outcome(one)
                if found is None:
                    self._bury(actor, item)
                    continue
                counts = counts_in(found)
                self.idle.append(actor)
                if item != _BEGINS:
                    yield item, counts

    def _hand_out(self, items: Iterator[int | None]) -> bool:
        """Give everybody something to do; whether anything is left."""
        while self.more and self._busy + len(self.waiting) < self.workers:
            item = next(items, _END)
            if item is None:
                break  # not yet
            if item == _END:
                self.more = False
            else:
                self.waiting.append(item)
        # Nobody is hired for nothing: a file of three chunks needs three actors.
        while len(self.actors) < self._busy + len(self.waiting):
            self._hire()
        while self.idle and self.waiting:
            actor, item = self.idle.popleft(), self.waiting.popleft()
            self.under_way[actor.do.remote(item)] = actor, item
        return self.more or self._busy > 0 or bool(self.waiting)

    def _wait(self) -> list[Any]:
        if not self.under_way:  # what is missing is done by somebody else
            time.sleep(TICK)
            return []
        ready, _ = self.ray.wait(list(self.under_way), num_returns=1, timeout=TICK)
        self.waited = 0 if ready else self.waited + 1
        if self.waited == PATIENCE and not self._busy:
            announce("still waiting for Ray: it may have fewer processors free than asked for")
        return list(ready)

    @property
    def _busy(self) -> int:
        return sum(item != _BEGINS for _, item in self.under_way.values())

    def dismiss(self) -> None:
        """End all actors, and wait until they are gone: then nobody writes any more."""
        for actor in self.actors:
            with suppress(Exception):
                self.ray.kill(actor, no_restart=True)
        if self.under_way:
            with suppress(Exception):
                left = list(self.under_way)
                self.ray.wait(left, num_returns=len(left), timeout=FAREWELL)
        self.actors.clear()

    def _hire(self) -> None:
        # No argument: Ray would keep it for restarts. No restart, no retry: those are ours.
        made = self.ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Actor)
        actor = made.remote()
        self.actors.append(actor)
        self.under_way[actor.begin.remote(self.errand)] = actor, _BEGINS

    def _outcome(self, done: Any) -> dict[str, Any] | None:
        """What an actor said; None if it died. Errors of Ray are not repeated, they quote."""
        try:
            found: dict[str, Any] = self.ray.get(done)
        except self.ray.exceptions.RayActorError:
            return None
        except self.ray.exceptions.RayError as error:
            kind = type(error).__name__
        else:
            return found
        raise StorageFailed(f"Ray could not do the work: {kind}")

    def _bury(self, actor: Any, item: int) -> None:
        """An actor died, or nobody hears from it: it gets no further word."""
        with suppress(Exception):
            self.ray.kill(actor, no_restart=True)
        self.actors.remove(actor)
        if item != _BEGINS:
            self.waiting.appendleft(item)
        self.deaths[item] += 1
        limit = MOST_DEATHS * (self.workers if item == _BEGINS else 1)
        if self.deaths[item] > limit:
            raise StorageFailed(
                f"{self.deaths[item]} workers died one after the other at the same piece of work: "
                "out of memory? fewer of them on each node need less"
            )
