"""The line before the threads: how many compute, how many wait, and what is given up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from sfumato.service.problems import Problem
from sfumato.service.queue import Turn, WorkQueue
from sfumato.service.settings import Limits

FOR_EVER = 3600.0


async def stay() -> None:
    """A caller who waits for the answer."""
    await asyncio.Event().wait()


class Counter:
    """Work that waits to be let go, and counts who paid."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.charged = 0

    def __call__(self, turn: Turn) -> str:
        self.begun.set()
        assert self.go.wait(FOR_EVER)
        turn.begin_charging()
        self.charged += 1
        return "paid"


async def begun(work: Counter) -> None:
    await asyncio.to_thread(work.begun.wait, FOR_EVER)


def run(limits: Limits, scene: Callable[[WorkQueue], Awaitable[None]]) -> None:
    async def play() -> None:
        queue = WorkQueue(limits)
        await scene(queue)
        await queue.close()

    asyncio.run(play())


def status(error: BaseException | None) -> int:
    assert isinstance(error, Problem)
    return error.status


@pytest.mark.parametrize("waiting", [0, 1, 3])
def test_a_burst_fills_the_line_and_no_more(waiting: int) -> None:
    async def scene(queue: WorkQueue) -> None:
        work = Counter()
        # All of them come before the loop has let the first one in.
        asked = [asyncio.ensure_future(queue.run(work, stay)) for _ in range(10)]
        await begun(work)
        away = [one for one in asked if one.done()]
        assert len(away) == 10 - 2 - waiting
        assert {status(one.exception()) for one in away} == {503}
        assert all(one.exception().headers["Retry-After"] for one in away)  # type: ignore[union-attr]
        work.go.set()
        left = [one for one in asked if one not in away]
        assert await asyncio.gather(*left) == ["paid"] * (2 + waiting)
        assert work.charged == 2 + waiting
        await asyncio.sleep(0)

    run(Limits(at_once=2, waiting=waiting), scene)


class AsksTheSemaphore(WorkQueue):
    """A twin: whether there is room is what the semaphore says, which has let nobody in yet."""

    async def _wait_for_place(self, gone: asyncio.Future[None], seconds: float) -> None:  # noqa: ARG002
        if self._free.locked() and self.waiting >= self._limits.waiting:
            raise Problem(503, "Busy", "")
        self.waiting += 1
        await asyncio.ensure_future(self._free.acquire())
        self.waiting -= 1


def test_twin_a_bound_that_a_burst_passes_is_seen() -> None:
    async def play() -> None:
        queue, work = AsksTheSemaphore(Limits(at_once=2, waiting=0)), Counter()
        asked = [asyncio.ensure_future(queue.run(work, stay)) for _ in range(10)]
        await begun(work)
        assert not any(one.done() for one in asked)  # all ten are in
        work.go.set()
        await asyncio.gather(*asked)
        await queue.close()

    asyncio.run(play())


def test_a_caller_who_leaves_the_line_takes_no_place_and_is_charged_nothing() -> None:
    async def scene(queue: WorkQueue) -> None:
        first, second, third = Counter(), Counter(), Counter()
        leave = asyncio.Event()

        async def left() -> None:
            await leave.wait()

        computing = asyncio.ensure_future(queue.run(first, stay))
        await begun(first)
        waiting = asyncio.ensure_future(queue.run(second, left))
        behind = asyncio.ensure_future(queue.run(third, stay))
        await asyncio.sleep(0)
        assert queue.waiting == 2
        leave.set()
        assert status((await asyncio.gather(waiting, return_exceptions=True))[0]) == 400  # type: ignore[arg-type]
        assert queue.waiting == 1
        first.go.set()
        third.go.set()
        assert await computing == await behind == "paid"
        assert not second.begun.is_set()
        assert second.charged == 0

    run(Limits(at_once=1, waiting=2), scene)


def test_a_caller_who_leaves_while_it_computes_is_charged_nothing() -> None:
    async def scene(queue: WorkQueue) -> None:
        work, after = Counter(), Counter()
        leave = asyncio.Event()

        async def left() -> None:
            await leave.wait()

        asked = asyncio.ensure_future(queue.run(work, left))
        await begun(work)
        leave.set()
        with pytest.raises(Problem, match="nothing was released or charged"):
            await asked
        # Its place is given back only when its thread has really ended.
        assert queue.computing == 1
        behind = asyncio.ensure_future(queue.run(after, stay))
        await asyncio.sleep(0)
        assert not after.begun.is_set()
        work.go.set()
        after.go.set()
        assert await behind == "paid"
        assert (work.charged, after.charged) == (0, 1)

    run(Limits(at_once=1, waiting=1), scene)


def test_what_has_begun_to_charge_is_carried_to_its_end_although_the_caller_left() -> None:
    async def scene(queue: WorkQueue) -> None:
        charging, go, leave = threading.Event(), threading.Event(), asyncio.Event()
        stored = []

        def work(turn: Turn) -> str:
            turn.begin_charging()
            charging.set()
            assert go.wait(FOR_EVER)
            stored.append("outcome")
            return "paid"

        async def left() -> None:
            await leave.wait()

        asked = asyncio.ensure_future(queue.run(work, left))
        await asyncio.to_thread(charging.wait, FOR_EVER)
        leave.set()
        await asyncio.sleep(0)
        go.set()
        assert await asked == "paid"
        assert stored == ["outcome"]

    run(Limits(at_once=1), scene)


def test_time_that_is_over_releases_and_charges_nothing() -> None:
    async def scene(queue: WorkQueue) -> None:
        work = Counter()
        with pytest.raises(Problem, match="nothing was released or charged") as caught:
            await queue.run(work, stay)  # it waits to be let go, so its time is over first
        assert caught.value.status == 504
        work.go.set()

    run(Limits(at_once=1, seconds=0.05), scene)


def test_time_in_the_line_is_over_too() -> None:
    async def scene(queue: WorkQueue) -> None:
        first, second = Counter(), Counter()
        asked = [asyncio.ensure_future(queue.run(one, stay)) for one in (first, second)]
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert [status(one) for one in done if isinstance(one, Problem)] == [504, 503]
        assert (first.charged, second.charged, second.begun.is_set()) == (0, 0, False)
        first.go.set()

    run(Limits(at_once=1, waiting=1, seconds=0.05), scene)


def test_the_time_that_a_body_took_to_arrive_is_part_of_the_time() -> None:
    async def scene(queue: WorkQueue) -> None:
        first, second = Counter(), Counter()
        asked = asyncio.ensure_future(queue.run(first, stay))
        await begun(first)
        with pytest.raises(Problem) as caught:  # the place is taken, and no time is left to wait
            await queue.run(second, stay, time.monotonic() - FOR_EVER)
        assert (caught.value.status, second.begun.is_set()) == (503, False)
        first.go.set()
        assert await asked == "paid"

    run(Limits(at_once=1, waiting=1, seconds=FOR_EVER), scene)


def test_a_stop_does_not_wait_for_what_was_given_up() -> None:
    async def play() -> None:
        queue, late, cut = WorkQueue(Limits(at_once=2, seconds=0.05)), Counter(), Counter()
        with pytest.raises(Problem, match="too long"):
            await queue.run(late, stay)
        asked = asyncio.ensure_future(queue.run(cut, stay))
        await begun(cut)
        asked.cancel()  # as a server does when its own patience ends
        with suppress(asyncio.CancelledError, Problem):
            await asked
        await queue.close()
        for one in (late, cut):
            assert not one.go.is_set()
            one.go.set()
        while queue.computing:
            await asyncio.sleep(0)
        assert (late.charged, cut.charged) == (0, 0)

    asyncio.run(play())


def test_a_stop_waits_for_what_computes() -> None:
    async def play() -> None:
        queue, work = WorkQueue(Limits(at_once=1)), Counter()
        asked = asyncio.ensure_future(queue.run(work, stay))
        await begun(work)
        stopping = asyncio.ensure_future(queue.close())
        await asyncio.sleep(0)
        assert not stopping.done()
        work.go.set()
        await stopping
        assert work.charged == 1
        assert await asked == "paid"

    asyncio.run(play())


def test_an_error_of_work_comes_back_and_frees_its_place() -> None:
    async def scene(queue: WorkQueue) -> None:
        def fail(turn: Turn) -> None:
            raise LookupError

        for _ in range(3):
            with pytest.raises(LookupError):
                await queue.run(fail, stay)

    run(Limits(at_once=1, waiting=0), scene)
