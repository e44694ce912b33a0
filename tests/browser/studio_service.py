"""A real service for the studio's tests, in a thread of this process, and a visitor of its page."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from browser.waiting import FOREVER
from sfumato.accounting.budget.shared import Budget
from sfumato.service.app import make_app
from sfumato.service.running import address_of, bind
from sfumato.service.settings import ServiceSettings
from sfumato.service.tokens import Token, Tokens, make_token

if TYPE_CHECKING:
    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Dialog,
        Page,
        Request,
    )

EVERY = ("analyze", "release", "explain", "budget", "admin")


@dataclass
class Running:
    """Where a service is, and tokens for it."""

    address: str
    token: str
    looking: str  # a token that only finds
    over: str  # one whose time is over


@contextmanager
def serve(folder: Path, *, budget: bool) -> Iterator[Running]:
    """A service at a free port; with a budget every release is charged."""
    import uvicorn

    kept: list[Token] = []

    def token(*rights: str) -> str:
        spelled, one = make_token("test", rights)
        kept.append(one)
        return spelled

    every, looking, over = token(*EVERY), token("analyze"), token(*EVERY)
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    kept[-1] = replace(kept[-1], expires=yesterday)
    settings = ServiceSettings(port=0)
    if budget:
        place, key = folder / "budget.db", folder / "budget.key"
        key.write_text(secrets.token_hex(32))
        Budget.at(place, key, new=True).close()
        settings = replace(settings, budget=str(place), budget_key=key)
    listening = bind(settings)
    app = make_app(settings, Tokens(own=kept))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    end = time.monotonic() + FOREVER / 1000
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        assert time.monotonic() < end, "the service has not started for minutes"
        time.sleep(0.01)
    yield Running(address_of(settings, listening), every, looking, over)
    server.should_exit = True
    thread.join(FOREVER / 1000)
    listening.close()
    assert not thread.is_alive(), "the service did not end"


@dataclass
class Visitor:
    """Somebody at the page: what it asked for, what it said."""

    context: BrowserContext
    page: Page
    requested: list[str] = field(default_factory=list)
    asked: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    @classmethod
    def at(cls, browser: Browser, address: str, fragment: str = "") -> Visitor:
        """Open the page in a wide window, in which nothing moves by itself."""
        context = browser.new_context(
            accept_downloads=True,
            viewport={"width": 1440, "height": 900},
            color_scheme="light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(FOREVER)
        visitor = cls(context, context.new_page())
        page = visitor.page
        page.on("request", visitor._note)
        page.on("pageerror", lambda error: visitor.said.append(str(error)))
        page.on("console", visitor._hear)
        page.on("dialog", visitor._dismiss)
        page.goto(f"{address}{fragment}")
        return visitor

    def bodies(self, path: str) -> list[dict[str, object]]:
        """What was sent to a path."""
        return [body for where, body in self.asked if where == path]

    def assert_kept_to(self, service: Running) -> None:
        """Nobody else was asked for anything, and nothing went wrong on the page."""
        outside = [one for one in self.requested if not one.startswith((service.address, "blob:"))]
        assert outside == []
        assert self.said == []

    def violations(self, inside: str = "html") -> list[str]:
        """What axe-core objects to, in all of the page or in a part of it."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page, inside, {"resultTypes": ["violations"]}).response
        return [
            f"{one['id']}: {node['html'][:160]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def _hear(self, message: ConsoleMessage) -> None:
        # That an answer had a status is said by the browser itself; the page must say it, too.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.said.append(message.text)

    def _dismiss(self, dialog: Dialog) -> None:
        self.said.append("dialog")
        dialog.dismiss()

    def _note(self, request: Request) -> None:
        self.requested.append(request.url)
        if request.method in ("POST", "PUT"):
            self.asked.append((urlsplit(request.url).path, request.post_data_json or {}))
