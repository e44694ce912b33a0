"""The bounded queue: how many requests compute, how many wait, and when one is given up.

Guarantee
    A request that is given up, because its caller left or its time is over, releases and charges
    nothing, unless it had begun to charge: then it is carried to its end, and its answer can be had
    again under the same key. While it waits for others at the budget it has not begun, so it is
    answered in its time, and never charged after that.

Why it holds
    Work that charges asks for ``Turn.begin_charging`` first; a budget does so when it has the lock
    (``accounting.budget.patience``). A turn is given up or begins to charge, never both: one lock
    decides which came first. A place in the queue is given back when its work has really ended, so
    no more than ``at_once`` of them ever compute.

Care
    Work that computes cannot be stopped, so what was given up goes on for a while in its place.
    It runs in a thread that does not keep the process: a stop waits for what may still be charged,
    and for nothing else.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sfumato.accounting.budget.patience import WAITING, waiting_for_it
from sfumato.core.errors import BudgetBusy
from sfumato.service.problems import Problem
from sfumato.service.settings import Limits

ResultT = TypeVar("ResultT")


class GivenUp(Exception):
    """Nobody waits for this work any more."""


class Turn:
    """One request's turn to compute; somebody waits for it for some seconds."""

    def __init__(self, seconds: float = WAITING) -> None:
        self._lock = threading.Lock()
        self._until = time.monotonic() + seconds
        self._given_up = False
        self._charging = False
        self._at_budget = False

    @contextmanager
    def at_budget(self) -> Iterator[None]:
        """Inside, the work reads or charges a budget, where others may be in its way."""
        self._at_budget = True
        try:
            with waiting_for_it(self):
                yield
        finally:
            self._at_budget = False

    def left(self) -> float:
        """For how many more seconds somebody waits."""
        return 0.0 if self.is_given_up else max(0.0, self._until - time.monotonic())

    def begin_charging(self) -> None:
        """From here on the work is carried to its end; stops it here if nobody waits for it."""
        with self._lock:
            if self._given_up:
                raise GivenUp
            self._charging = True

    def give_up(self) -> bool:
        """Let the work end without charging; False if it has begun to charge."""
        with self._lock:
            self._given_up = self._given_up or not self._charging
            return self._given_up

    @property
    def waits_at_budget(self) -> bool:
        """Whether others at the budget are what it waits for."""
        return self._at_budget

    @property
    def is_given_up(self) -> bool:
        """Whether nobody waits for it, so that it will not charge."""
        with self._lock:
            return self._given_up


Work = Callable[[Turn], ResultT]


class WorkQueue:
    """Threads that compute, and a line of requests before them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = asyncio.Semaphore(limits.at_once)
        self.waiting = 0
        self.computing = 0
        self._running: dict[Future[Any], Turn] = {}

    async def run(
        self,
        work: Work[ResultT],
        left: Callable[[], Awaitable[None]],
        since: float | None = None,
    ) -> ResultT:
        """Do some work in its turn; ``left`` returns when the caller has gone.

        ``since`` is when the request came, by the clock of ``time.monotonic``.
        """
        until = (time.monotonic() if since is None else since) + self._limits.seconds
        turn, gone = Turn(until - time.monotonic()), asyncio.ensure_future(left())
        future: asyncio.Future[ResultT] | None = None
        try:
            await self._wait_for_place(gone, max(0.0, until - time.monotonic()))
            future = self._start(work, turn)
            return await self._result(future, turn, gone, max(0.0, until - time.monotonic()))
        except asyncio.CancelledError:
            turn.give_up()
            if future is not None:
                future.add_done_callback(_forget)
            raise
        finally:
            gone.cancel()

    async def close(self) -> None:
        """Wait for what computes, so that nothing that was charged is lost.

        What was given up is not waited for: it may go on for long, and charges nothing.
        """
        waited = [
            asyncio.wrap_future(one) for one, turn in self._running.items() if not turn.is_given_up
        ]
        for one in waited:
            one.add_done_callback(_forget)
        if waited:
            await asyncio.wait(waited)

    async def _wait_for_place(self, gone: asyncio.Future[None], seconds: float) -> None:
        # Counted here and not by the semaphore: many may come before it has let one of them in.
        if self.waiting + self.computing >= self._limits.at_once + self._limits.waiting:
            raise busy()
        self.waiting += 1
        place = asyncio.ensure_future(self._free.acquire())
        first: set[asyncio.Future[Any]] = {place, gone}
        try:
            await asyncio.wait(first, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.waiting -= 1
            taken = place.done() and not place.cancelled()
            if not taken:
                place.cancel()
                with suppress(asyncio.CancelledError):
                    # It may have been given the place in the very moment it was called off.
                    taken = await place
        if taken and not gone.done():
            return
        if taken:
            self._free.release()
        raise given_up() if gone.done() else busy()

    def _start(self, work: Work[ResultT], turn: Turn) -> asyncio.Future[ResultT]:
        loop = asyncio.get_running_loop()
        self.computing += 1

        def ended(done: Future[ResultT]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._give_back, done)

        future: Future[ResultT] = Future()
        self._running[future] = turn
        future.add_done_callback(ended)
        future.set_running_or_notify_cancel()
        threading.Thread(target=_carry_out, args=(work, turn, future), daemon=True).start()
        return asyncio.wrap_future(future)

    def _give_back(self, done: Future[Any]) -> None:
        del self._running[done]
        self.computing -= 1
        self._free.release()

    async def _result(
        self,
        future: asyncio.Future[ResultT],
        turn: Turn,
        gone: asyncio.Future[None],
        seconds: float,
    ) -> ResultT:
        # Shielded: to give up waiting must not cancel work that is charging.
        waited: set[asyncio.Future[Any]] = {future, gone}
        await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not future.done() and turn.give_up():
            future.add_done_callback(_forget)
            if gone.done():
                raise given_up()
            if turn.waits_at_budget:
                raise budget_busy()
            raise Problem(504, "TookTooLong", "it took too long; nothing was released or charged")
        try:
            return await asyncio.shield(future)
        except GivenUp:
            raise given_up() from None


def _carry_out(work: Work[ResultT], turn: Turn, future: Future[ResultT]) -> None:
    try:
        result = work(turn)
    except BaseException as error:  # whoever waits for it is told
        future.set_exception(error)
    else:
        future.set_result(result)


def busy() -> Problem:
    """The line is full."""
    return Problem(503, "Busy", "too many requests wait already", {"Retry-After": "1"})


def budget_busy() -> Problem:
    """Others are at the budget, and this was not charged."""
    return Problem(
        503,
        BudgetBusy.__name__,
        "others are charging the budget for too long; nothing was released or charged",
        {"Retry-After": "1"},
    )


def given_up() -> Problem:
    """Nobody reads this answer."""
    return Problem(400, "CutOff", "the caller left; nothing was released or charged")


def _forget(future: asyncio.Future[ResultT]) -> None:
    """Look at an error that nobody waits for, so that it is not logged with what it quotes."""
    if not future.cancelled():
        future.exception()
