"""What every request passes before it is read: its host, its token, its rate, its size and time.

Guarantee
    A body is read only for a caller with the right for its path, under one of the service's own
    names, and no further than the limit. A path that is not listed here needs the right ``admin``.

Why it holds
    The checks are done on the first lines of a request, in this order, before anything of the body
    is asked for; a body is then read whole, counted and timed, looked at for a second meaning
    (``reading``), and handed on in one piece. FastAPI would read a body before it asks who sent it.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.core.errors import SfumatoError
from sfumato.service.problems import BODY, Problem, answer
from sfumato.service.reading import refuse_ambiguous
from sfumato.service.settings import ServiceSettings
from sfumato.service.tokens import Right, Token, Tokens

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
# What anybody may see: nothing here depends on anybody's text or account.
OPEN = ("/", "/health", "/openapi.json", "/docs", "/favicon.ico")
OPEN_BELOW = "/studio/"
RIGHTS: dict[str, Right | None] = {
    "/analyze": Right.ANALYZE,
    "/anonymize": Right.RELEASE,
    "/anonymizers": Right.ANALYZE,
    "/recognizers": Right.ANALYZE,
    "/supportedentities": Right.ANALYZE,
    "/v1/analyze": Right.ANALYZE,
    "/v1/anonymize": Right.RELEASE,
    "/v1/anonymizers": Right.ANALYZE,
    "/v1/recognizers": Right.ANALYZE,
    "/v1/supportedentities": Right.ANALYZE,
    "/v1/mechanisms": Right.ANALYZE,
    "/v1/policies": Right.ANALYZE,
    "/v1/guarantee": Right.ANALYZE,
    "/v1/privatize": Right.RELEASE,
    "/v1/explain": Right.EXPLAIN,
    "/v1/explain/word": Right.EXPLAIN,
    "/v1/compare": Right.EXPLAIN,
    "/v1/budget": Right.BUDGET,
    "/v1/report": Right.BUDGET,
    "/v1/accounts": Right.ADMIN,
    "/v1/accounts/close": Right.ADMIN,
    "/metrics": Right.ADMIN,
    "/v1/token": None,  # any valid token may ask what it allows
}
_ONCE = (b"authorization", b"content-length", b"content-type", b"host", b"idempotency-key")
_WITH_BODY = ("POST", "PUT")
_READ_TO_THE_END = (403, 413, 415)
PATIENCE, PATIENT_WITH = 2.0, 4  # seconds, and bodies of the largest size
ARRIVED = "sfumato.arrived"  # where the moment at which a request came stands in its scope
CALLER = "sfumato.caller"  # where the token of a request stands in its scope
_LOG = logging.getLogger("sfumato.service")
_FRAMES = 8
STRANGERS_PER_MINUTE = 60  # requests without a valid token, from everybody together


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: App, settings: ServiceSettings, tokens: Tokens) -> None:
        self._app, self._settings, self._tokens = app, settings, tokens
        self._names = settings.names
        self._rates = Rates(settings.limits.per_minute)
        self._strangers = Rates(STRANGERS_PER_MINUTE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request and hand it on, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1000})
                return
            await self._app(scope, receive, send)
            return
        protected = _with_headers(send)
        scope[ARRIVED] = time.monotonic()
        try:
            headers = _headers(scope)
            self._admit(scope, headers)
            body = await self._body(scope, headers, receive)
            if scope["method"] in _WITH_BODY:
                refuse_ambiguous(body)
        except Problem as problem:
            await self._refuse(problem, receive, protected)
            return
        scope[BODY] = body
        await self._hand_on(scope, _replay(body, receive), protected)

    async def _refuse(self, problem: Problem, receive: Receive, send: Send) -> None:
        """Answer, and close when a caller who may ask has had some time to read the answer.

        Were the connection closed while a body is still sent, the answer would be lost with it.
        """
        problem.headers.setdefault("Connection", "close")
        told = answer(problem)
        start = {"type": "http.response.start", "status": problem.status}
        await send(start | {"headers": told.raw_headers})
        await send({"type": "http.response.body", "body": bytes(told.body), "more_body": True})
        if problem.status in _READ_TO_THE_END:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(PATIENCE, self._settings.limits.seconds)):
                    await _drop(receive, PATIENT_WITH * self._settings.limits.body)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _hand_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            # A server would log this with all it says, and it may quote the text.
            _LOG.error("%s at %s", type(error).__name__, _places(error))
            if not begun:
                await answer(
                    Problem(500, "InternalError", "a mistake of ours; nothing was released")
                )(scope, receive, send)

    def _admit(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        if not self._names.include(headers.get(b"host", b"")):
            raise Problem(421, "UnknownHost", "this service is called by another name")
        path = scope["path"]
        if path in OPEN or path.startswith(OPEN_BELOW):
            return
        token = self._token(headers.get(b"authorization", b""))
        right = RIGHTS.get(path, Right.ADMIN)
        if right is not None and right not in token.rights:
            raise Problem(403, "MissingRight", f"this token lacks the right '{right.value}'")
        self._rates.count(token.id)
        scope[CALLER] = token

    def _token(self, header: bytes) -> Token:
        kind, _, spelled = header.decode("latin-1").partition(" ")
        found = self._known(spelled.strip()) if kind.lower() == "bearer" else None
        if found is None or found.is_over(datetime.now(UTC)):
            self._strangers.count("")
            raise Problem(
                401,
                "MissingToken",
                "send a valid token as 'Authorization: Bearer TOKEN'",
                {"WWW-Authenticate": "Bearer"},
            )
        return found

    def _known(self, spelled: str) -> Token | None:
        try:
            return self._tokens.find(spelled)
        except SfumatoError as error:
            self._strangers.count("")
            _LOG.error("%s at %s", type(error).__name__, _places(error))
        raise Problem(
            503,
            "TokensUnreadable",
            "the service cannot read its tokens, so it lets nobody in; whoever runs it can mend it",
            {"Retry-After": "5"},
        )

    async def _body(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        limits = self._settings.limits
        too_large = Problem(413, "TooLarge", f"a request may have {limits.body:,} bytes at most")
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced[:20]) > limits.body:
            raise too_large
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if scope["method"] in _WITH_BODY and kind != b"application/json":
            # A form on another site could send anything else without being asked.
            raise Problem(415, "NotJson", "send JSON, as 'Content-Type: application/json'")
        parts, size = [], 0
        try:
            async with asyncio.timeout(limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "CutOff", "the request was not sent to its end")
                    part = message.get("body", b"")
                    size += len(part)
                    if size > limits.body:
                        raise too_large
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Problem(408, "TooSlow", "the request took too long to arrive") from None


def _places(error: BaseException) -> str:
    """Where an error came from: files and lines, nothing of what was computed there."""
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(
        f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames[-_FRAMES:])
    )


async def _drop(receive: Receive, most: int) -> None:
    """Read what is still sent, up to some size, and forget it."""
    while most > 0:
        message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
        most -= len(message.get("body", b""))


class Rates:
    """A bucket of requests for each caller, which fills again in a minute."""

    def __init__(self, per_minute: int) -> None:
        self._most = per_minute
        self._left: dict[str, tuple[float, float]] = {}

    def count(self, who: str) -> None:
        """Count a request, or refuse it."""
        now = time.monotonic()
        left, then = self._left.get(who, (float(self._most), now))
        left = min(self._most, left + (now - then) * self._most / 60)
        if left < 1:
            wait = math.ceil((1 - left) * 60 / self._most)
            raise Problem(
                429, "TooManyRequests", "wait and send it again", {"Retry-After": str(wait)}
            )
        self._left[who] = left - 1, now


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; of one that decides and is sent twice nobody knows which counts."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        lowered = name.lower()
        if lowered in found and lowered in _ONCE:
            raise Problem(400, "DoubledHeader", "a header that decides something was sent twice")
        found[lowered] = value
    return found


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            known = {name.lower() for name, _ in given}
            given += [one for one in HEADERS if one[0] not in known]
            message["headers"] = [one for one in given if one[0].lower() != b"server"]
        await send(message)

    return sending
