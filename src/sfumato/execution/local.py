"""Work in processes of this machine, a bounded number of items at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from sfumato.core.errors import StorageFailed

Item = TypeVar("Item")
Result = TypeVar("Result")

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_state: dict[str, Any] = {}


def in_order(
    work: Callable[[Any, Item], Result], shared: Any, items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """``work(shared, item)`` for each item, results in order.

    ``shared`` goes to each worker once. At most two items per worker are under way, so memory
    does not grow with the number of items.
    """
    if workers == 1:
        for item in items:
            yield work(shared, item)
        return
    pool = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _start, (work, shared)
    )
    try:
        with _divided_threads(workers):
            yield from _bounded(pool, items, 2 * workers)
    except BrokenProcessPool:
        raise StorageFailed(
            "a worker process died (out of memory?); fewer --workers need less of it"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _bounded(pool: ProcessPoolExecutor, items: Iterable[Item], most: int) -> Iterator[Any]:
    waiting: deque[Future[Any]] = deque()
    for item in items:
        waiting.append(pool.submit(_work, item))
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _start(work: Callable[[Any, Any], Any], shared: Any) -> None:
    _state["work"], _state["shared"] = work, shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    # A parent that is killed cannot tell its workers; they would wait for work for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(item: Any) -> Any:
    return _state["work"](_state["shared"], item)


@contextmanager
def _divided_threads(workers: int) -> Iterator[None]:
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
