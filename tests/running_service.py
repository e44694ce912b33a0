"""Services for tests: an application that runs in this process, and one in a process of its own."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.accounting.budget import Budget, Limit
from sfumato.service.settings import ServiceSettings
from sfumato.service.tokens import Right, Token, Tokens, make_token

if TYPE_CHECKING:
    from starlette.testclient import TestClient

EVERY = tuple(one.value for one in Right)
TEXT = "Ask Ada Lovelace at 515 555 0146."


@dataclass
class Running:
    """An application in this process, and how it is asked."""

    http: TestClient
    token: str
    tokens: Tokens
    settings: ServiceSettings
    budget: Budget | None = field(default=None)

    def ask(
        self, path: str, body: object = None, *, method: str = "POST", key: str = "", **more: Any
    ) -> Any:
        """A request with the token; the answer as it came."""
        headers = {"Authorization": f"Bearer {self.token}"} | more.pop("headers", {})
        if key:
            headers["Idempotency-Key"] = key
        if method == "GET":
            return self.http.get(path, headers=headers, **more)
        return self.http.request(method, path, headers=headers, json=body, **more)


def new_budget(folder: Path, **limits: float) -> tuple[str, Path]:
    """A new budget with accounts of levels, ``KIND_ID=LIMIT``, and the file of its key."""
    key = folder / "budget.key"
    key.write_text(secrets.token_hex(32))
    place = str(folder / "budget.db")
    with Budget.at(place, key, new=True) as budget:
        for name, limit in limits.items():
            budget.open(name.replace("_", ":", 1), Limit.of("level", limit))
    return place, key


@contextmanager
def running(settings: ServiceSettings, tokens: Sequence[Token] = ()) -> Iterator[Running]:
    """An application from its start to its end, as a server would run it."""
    from starlette.testclient import TestClient

    from sfumato.service.app import make_app

    spelled, kept = make_token("test", EVERY)
    known = Tokens(own=[kept, *tokens])
    app = make_app(settings, known)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as http:
        yield Running(http, spelled, known, settings, app.state.service.cashier.budget)


def address(line: bytes) -> str:
    """Where a service says that it is."""
    found = re.search(rb"http://\S+", line)
    assert found, line
    return found[0].decode()
