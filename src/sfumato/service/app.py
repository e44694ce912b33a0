"""The application: routes, errors, the page, and the guard around all of it."""

from __future__ import annotations

import time
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware

from sfumato.service import document, pages, problems
from sfumato.service.guard import OPEN, RIGHTS, App, Guard, Message, Receive, Scope, Send
from sfumato.service.metrics import OTHER
from sfumato.service.routes import router
from sfumato.service.settings import ServiceSettings
from sfumato.service.state import lifespan
from sfumato.service.tokens import Tokens

DESCRIPTION = (
    "Finds what is sensitive in text, protects it, says what is guaranteed, and charges a budget. "
    "Send a token as 'Authorization: Bearer TOKEN'."
)
# FastAPI would hand bodies and what errors say to whatever collects traces and logs in a process.
_NO_TELEMETRY: Any = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)
_PATHS = frozenset((*OPEN, *RIGHTS))


def make_app(settings: ServiceSettings, tokens: Tokens) -> FastAPI:
    """An application for any ASGI server."""
    app = FastAPI(
        title="sfumato",
        version=version("sfumato"),
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        telemetry=_NO_TELEMETRY,
        middleware=[
            Middleware(_Counting),
            Middleware(Guard, settings=settings, tokens=tokens),
        ],
    )
    app.state.settings = settings
    app.include_router(router)
    app.include_router(pages.router)
    problems.install(app)
    document.describe(app)
    return app


class _Counting:
    """Counts requests, also those that the guard answers."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            service: Any = getattr(scope["app"].state, "service", None)
            if service is not None:
                path = scope["path"] if scope["path"] in _PATHS else OTHER
                spent = time.perf_counter() - began
                service.metrics.count(path, scope["method"], status, spent)
