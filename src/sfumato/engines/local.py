"""Work in processes of this machine, a bounded number of items at a time.

What all workers of a run have in common goes to each of them once, through its pipe. Classes from
somebody's own file (``file.py:Class``) arrive by the path of that file.

Each worker has a pipe of its own and one item at a time, and nothing else is shared: no thread,
lock or queue that a process could take along when it ends. So whatever happens here (an interrupt,
an error, results nobody wants any more), the workers are asked to stop and waited for; whoever is
interrupted while waiting ends them. They write nothing down, so nothing is lost but their item.

Interrupts are for the process that started the workers: they do not see them, from their first
moment on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, TypeVar

from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.own_code import blame, files_of, load_again
from sfumato.engines.engine import Counts, NumberedWork

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def in_order(
    work: Callable[[Any, ItemT], ResultT], shared: Any, items: Iterable[ItemT], workers: int
) -> Generator[ResultT]:
    """``work(shared, item)`` for each item, results in order.

    ``shared`` goes to each worker once. At most two items per worker are under way, so memory
    does not grow with the number of items.
    """
    if workers == 1:
        for item in items:
            yield work(shared, item)
        return
    with _crew(workers) as crew:
        task = ForkingPickler.dumps((work, shared))
        for one in crew:
            with _death_named():
                one.pipe.send(files_of(bytes(task)))
                one.pipe.send_bytes(task)
        yield from _bound(crew, iter(items), 2 * workers)


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process, and our end of the pipe to it."""

    process: SpawnProcess
    pipe: Connection[Any, Any]


@dataclass(frozen=True, slots=True)
class _Failed:
    """What a worker sends instead of a result."""

    error: Exception


@contextmanager
def _crew(count: int) -> Iterator[list[_Worker]]:
    """Processes that are gone afterwards, whatever happens."""
    crew: list[_Worker] = []
    try:
        with _divide_threads(count):
            for _ in range(count):
                _hire(crew)
        yield crew
        for one in crew:
            one.pipe.close()  # there is no more work: they leave
    except BaseException:
        for one in crew:
            one.process.terminate()
        raise
    finally:
        _wait_for(crew)


def _hire(crew: list[_Worker]) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,))
    # Started now: when it starts it lets signals through again.
    resource_tracker.ensure_running()
    # A process begins with the signals blocked that are blocked here; and none of ours is forgotten
    # because of an interrupt just after it was started.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        process.start()
        crew.append(_Worker(process, ours))
    finally:
        theirs.close()  # so that a worker's death is the end of its pipe
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for(crew: list[_Worker]) -> None:
    try:
        for one in crew:
            one.process.join()
    except BaseException:
        for one in crew:
            one.process.kill()
        raise
    for one in crew:
        one.pipe.close()
        one.process.close()


def _bound(crew: list[_Worker], items: Iterator[Any], most: int) -> Iterator[Any]:
    """Results in order; those that come early wait, and count as under way until they are taken."""
    busy = {one.pipe: -1 for one in crew}  # a worker tells when it is ready
    idle: deque[Connection[Any, Any]] = deque()
    finished: dict[int, Any] = {}
    given = taken = 0
    more = True
    while True:
        while more and idle and given - taken < most:
            try:
                item = next(items)
            except StopIteration:
                more = False
                break
            pipe = idle.popleft()
            with _death_named():
                pipe.send(item)
            busy[pipe] = given
            given += 1
        if taken in finished:
            yield _result(finished.pop(taken))
            taken += 1
        elif taken == given and not more:
            return
        else:
            ready = wait(list(busy))
            for pipe in [one for one in busy if one in ready]:
                with _death_named():
                    number, found = busy.pop(pipe), pipe.recv()
                idle.append(pipe)
                if number < 0:
                    _result(found)
                else:
                    finished[number] = found


@contextmanager
def _death_named() -> Iterator[None]:
    try:
        yield
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise StorageFailed(
            "a worker process died: out of memory? fewer of them (`workers=N`) need less. A script "
            "that starts workers must do so under if __name__ == '__main__'"
        ) from None


def _result(found: Any) -> Any:
    if isinstance(found, _Failed):
        raise found.error
    return found


def _serve(pipe: Connection[Any, Any]) -> None:
    """What a worker does: take an item, send the result, until there is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        task = _try_item(_unpack, pipe.recv(), pipe.recv_bytes())
        pipe.send_bytes(_pack(task if isinstance(task, _Failed) else None))
        while not isinstance(task, _Failed):
            work, shared = task
            pipe.send_bytes(_pack(_try_item(work, shared, pipe.recv())))


def _unpack(files: tuple[tuple[str, str], ...], task: bytes) -> Any:
    """The work and what is shared; classes of somebody's own files arrive after those files."""
    load_again(files)
    return ForkingPickler.loads(task)


def _try_item(work: Callable[..., Any], *given: Any) -> Any:
    try:
        return work(*given)
    except Exception as error:
        # What failed in somebody's own code is said here, where it can be seen.
        told = blame(error) or error
        # For whoever asks to see all of it: where it happened over there.
        told.add_note(traceback.format_exc())
        return _Failed(told)


def _pack(found: Any) -> Any:
    try:
        return ForkingPickler.dumps(found)
    except Exception as error:
        # Of an error that cannot travel only the name does: its text may be private.
        kind = type(found.error if isinstance(found, _Failed) else error).__name__
        return ForkingPickler.dumps(_Failed(RuntimeError(kind)))


def _leave_with_parent() -> None:
    # A parent that is killed cannot tell its workers; they would go on with their item for nobody.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _divide_threads(workers: int) -> Iterator[None]:
    # Workers that each start a thread per core get in each other's way.
    share = str(max(1, (os.cpu_count() or 1) // workers))
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update({name: share for name in _THREADS if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


@dataclass(frozen=True, kw_only=True)
class LocalEngine:
    """Numbered work in processes of this machine; with one worker, in this process."""

    workers: int = 1

    def each(
        self,
        work: NumberedWork,
        shared: Any,
        items: Iterable[int | None],
        place: Path | None,  # noqa: ARG002  # everything goes through pipes
    ) -> Generator[tuple[int, Counts]]:
        """``work(shared, item)`` for each item, in order; a process that dies is an error.

        Items that wait for others need one worker: with more, nobody would look at what is done.
        """
        with closing(in_order(_numbered, (work, shared), self._ready(items), self.workers)) as done:
            yield from done

    def _ready(self, items: Iterable[int | None]) -> Iterator[int]:
        for item in items:
            if item is not None:
                yield item
            elif self.workers > 1:
                raise InvalidArgument("work that waits for other work needs `workers=1` here")


def _numbered(task: tuple[NumberedWork, Any], item: int) -> tuple[int, Counts]:
    work, shared = task
    return item, work(shared, item)
