"""What a running service holds: its settings, its queue, its budget and its counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request

from sfumato.accounting.budget.shared import Budget
from sfumato.core.errors import SfumatoError
from sfumato.service.guard import ARRIVED
from sfumato.service.metrics import Metrics
from sfumato.service.offers import choose_privatizer
from sfumato.service.queue import Turn, WorkQueue
from sfumato.service.releasing import Cashier
from sfumato.service.requests import Choices
from sfumato.service.settings import ServiceSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

ResultT = TypeVar("ResultT")
PUBLIC = "Write to Ann Smith, 12 Main Street, Boston, +1 617-555-0154, on 3 May 2021 about 5 %"
FORGETTING = 3600.0  # seconds between two looks for outputs that are kept too long


@dataclass
class Service:
    """One running service."""

    settings: ServiceSettings
    queue: WorkQueue
    cashier: Cashier
    metrics: Metrics = field(default_factory=Metrics)

    @classmethod
    def started(cls, settings: ServiceSettings) -> Service:
        """A service with its budget open, if it has one: a wrong key is said at the start."""
        budget = (
            None if settings.budget is None else Budget.at(settings.budget, settings.budget_key)
        )
        made = cls(settings, WorkQueue(settings.limits), Cashier(budget, settings.uncharged))
        made.metrics.watch(made.queue)
        return made

    async def compute(self, request: Request, work: Callable[[Turn], ResultT]) -> ResultT:
        """Do some work in its turn, as long as the caller waits for it."""
        return await self.queue.run(work, _left(request), request.scope.get(ARRIVED))

    async def forget(self) -> None:
        """Drop stored outputs that are kept too long, again and again."""
        budget = self.cashier.budget
        while budget is not None:
            with suppress(SfumatoError):  # a database that is away: later
                await asyncio.to_thread(budget.forget_outcomes)
            await asyncio.sleep(FORGETTING)

    async def stop(self) -> None:
        """End when what computes has ended, so that no charge is lost."""
        await self.queue.close()
        if self.cashier.budget is not None:
            self.cashier.budget.close()


def warm_up() -> None:
    """Load what is loaded at the first use, so that the first request need not wait for it."""
    choose_privatizer(Choices(epsilon=5.0)).privatize([PUBLIC])


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """From the first request to the last."""
    service = Service.started(app.state.settings)
    app.state.service = service
    await asyncio.to_thread(warm_up)
    forgetting = asyncio.ensure_future(service.forget())
    try:
        yield
    finally:
        forgetting.cancel()
        await service.stop()


def serving(request: Request) -> Service:
    """The service that a request came to."""
    found: Any = request.app.state.service
    assert isinstance(found, Service)  # noqa: S101
    return found


def _left(request: Request) -> Callable[[], Awaitable[None]]:
    async def left() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return left
