"""Errors as RFC 9457 describes them, without anything of what was sent.

Guarantee
    No answer that reports an error repeats a value or a name of the request's body.

Why it holds
    What FastAPI says of a body that does not fit is taken apart: the kind of the error and the way
    to it stay, as far as that way is made of names that the service itself has. A message of the
    package is dropped where it contains any text of the body, or quotes a part of one, that is not
    such a name; then its type and a plain sentence are all that is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from sfumato.accounting.budget.accounts import Kind, Measure
from sfumato.catalog import entries
from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    IncomparableGuarantees,
    MissingAccount,
    MissingExtra,
    SfumatoError,
    StorageFailed,
)
from sfumato.core.kinds import LABELS
from sfumato.core.quoting import repeats

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"
BODY = "sfumato.body"  # where the bytes of a request's body stand in its scope
MOST_ERRORS = 20  # of a body that does not fit in many places
PLAIN = "something in the request is not allowed; the documentation says what is"
_STATUS: tuple[tuple[type[SfumatoError], int], ...] = (
    (MissingAccount, 404),
    (BudgetExceeded, 409),
    (IncomparableGuarantees, 409),
    (MissingExtra, 501),
    (StorageFailed, 503),
    (BadInput, 422),
    (SfumatoError, 422),
)
TITLES = {
    400: "the request cannot be read",
    401: "a valid token is missing",
    403: "this token lacks the right",
    404: "there is no such thing here",
    405: "there is no such method here",
    408: "the request took too long to arrive",
    409: "this cannot be done as things stand",
    410: "the answer is no longer kept",
    413: "the request is too large",
    415: "the request is not JSON",
    421: "the service has another name",
    422: "the request does not fit",
    429: "too many requests",
    500: "a mistake of ours",
    501: "this is not installed here",
    503: "not now",
    504: "it took too long",
}


class Problem(Exception):
    """An error with a status, to be told as it is; ``detail`` holds nothing of a body."""

    def __init__(
        self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """The members that RFC 9457 names."""
        return {
            "type": self.kind,
            "title": TITLES.get(self.status, "an error"),
            "status": self.status,
            "detail": self.detail,
        }


def answer(problem: Problem, errors: list[dict[str, Any]] | None = None) -> JSONResponse:
    """The problem as a response."""
    from starlette.responses import JSONResponse

    content = problem.as_dict() | ({} if errors is None else {"errors": errors})
    return JSONResponse(
        content, status_code=problem.status, headers=problem.headers, media_type=MEDIA_TYPE
    )


def of_error(error: SfumatoError, body: bytes) -> Problem:
    """An error of the package as a problem, without anything of the body."""
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    headers = {"Retry-After": "5"} if status == 503 else {}
    return Problem(status, type(error).__name__, without_body(str(error), body), headers)


def without_body(message: str, body: bytes) -> str:
    """The message, or a plain sentence if it repeats a text of the body."""
    return PLAIN if repeats(message, _texts(body), _own_names()) else message


def of_validation(errors: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where a body does not fit and how, in names of the service alone."""
    return [
        {"where": [_place(part) for part in one.get("loc", ())], "kind": str(one.get("type", ""))}
        for one in islice(errors, MOST_ERRORS)
    ]


def _place(part: object) -> str | int:
    if isinstance(part, int):
        return part
    return str(part) if str(part) in _own_names() or str(part) in _PARTS else "*"


_PARTS = ("body", "query", "header", "path", "idempotency-key")


@cache
def _own_names() -> frozenset[str]:
    """Names that the service itself uses: of fields, components and types."""
    from sfumato.service import operators, requests

    names = {name for kind in ("mechanisms", "policies") for name in entries(kind)}
    kinds = (*Kind, *Measure)
    named = (*operators.NAMES, *operators.REFUSED)
    return frozenset({*names, *LABELS, *kinds, *named, *requests.field_names()})


def _texts(body: bytes) -> Iterator[str]:
    try:
        pending: list[Any] = [json.loads(body)] if body else []
    except (ValueError, RecursionError):
        return
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, int | float):
            yield str(one)
        elif isinstance(one, dict):
            yield from one
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)


def install(app: Any) -> None:
    """Let an application tell all its errors in this way."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def body_of(request: Request) -> bytes:
        found = request.scope.get(BODY, b"")
        return found if isinstance(found, bytes) else b""

    async def problem(request: Request, error: Problem) -> JSONResponse:  # noqa: ARG001
        return answer(error)

    async def ours(request: Request, error: SfumatoError) -> JSONResponse:
        return answer(of_error(error, body_of(request)))

    async def misfit(request: Request, error: RequestValidationError) -> JSONResponse:  # noqa: ARG001
        found = of_validation(error.errors())
        unreadable = any(one["kind"].startswith("json") for one in found)
        status, kind = (400, "UnreadableJson") if unreadable else (422, "BadRequest")
        detail = (
            "the body is not JSON"
            if unreadable
            else "the member 'errors' says where the request does not fit"
        )
        return answer(Problem(status, kind, detail), found)

    async def standard(request: Request, error: HTTPException) -> JSONResponse:  # noqa: ARG001
        title = TITLES.get(error.status_code, "an error")
        known = Problem(error.status_code, "HttpError", title, error.headers)
        return answer(known)

    app.add_exception_handler(Problem, problem)
    app.add_exception_handler(SfumatoError, ours)
    app.add_exception_handler(RequestValidationError, misfit)
    app.add_exception_handler(HTTPException, standard)
