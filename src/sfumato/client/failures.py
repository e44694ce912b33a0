"""Errors of the service as errors of the package, by the type that a problem names (RFC 9457).

Guarantee
    No message repeats anything of what was sent.

Why it holds
    The service's own messages do not. What comes from elsewhere, such as a proxy in between, is not
    taken over: only a problem's ``type`` and ``detail`` are read, and a detail that repeats a text
    of the request is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sfumato.core.errors import (
    BadInput,
    BudgetExceeded,
    IncomparableGuarantees,
    InvalidArgument,
    MissingAccount,
    MissingRight,
    MissingToken,
    OutcomeForgotten,
    ServiceFailed,
    ServiceUnavailable,
    SfumatoError,
    StorageFailed,
    TookTooLong,
    UndecodableText,
    UnknownWords,
)
from sfumato.core.quoting import repeats

MEDIA_TYPE = "application/problem+json"
LONGEST = 2000  # letters of a detail
_PLAIN: tuple[type[SfumatoError], ...] = (
    BadInput, BudgetExceeded, IncomparableGuarantees, InvalidArgument, MissingAccount, MissingRight,
    MissingToken, OutcomeForgotten, StorageFailed, TookTooLong, UndecodableText, UnknownWords,
)  # fmt: skip
_KINDS: dict[str, type[SfumatoError]] = {
    **{one.__name__: one for one in _PLAIN},
    "BadRequest": InvalidArgument,
    "NoBudget": InvalidArgument,
    "UnknownName": InvalidArgument,
    "UnreadableJson": InvalidArgument,
    "TooLarge": BadInput,
    "TooMany": BadInput,
}
_PASSING = (408, 429, 502, 504)  # whatever the type: later it may work
# Where the type says nothing that is known here.
_STATUS: dict[int, type[SfumatoError]] = {
    401: MissingToken,
    403: MissingRight,
    408: ServiceUnavailable,
    410: OutcomeForgotten,
    413: BadInput,
    422: InvalidArgument,
    429: ServiceUnavailable,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: ServiceUnavailable,
}


def failure(status: int, media_type: str, content: bytes, sent: bytes) -> SfumatoError:
    """The error that an answer stands for; ``sent`` is the body of the request."""
    problem = _problem(content) if media_type.partition(";")[0].strip() == MEDIA_TYPE else {}
    named = None if status in _PASSING else _KINDS.get(str(problem.get("type")))
    kind = named or _STATUS.get(status, ServiceFailed)
    detail, places = str(problem.get("detail", "")), _places(problem.get("errors"))
    if not detail or len(detail) > LONGEST or repeats(detail + places, _texts(sent)):
        detail, places = f"the service answered with the status {status}", ""
    return kind(detail + places)


def _problem(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _places(errors: object) -> str:
    """Where a request does not fit, as the service says it."""
    if not isinstance(errors, list):
        return ""
    said = [
        f"{'.'.join(map(str, one['where'][1:]))}: {one['kind']}"
        for one in errors
        if isinstance(one, dict) and isinstance(one.get("where"), list) and "kind" in one
    ]
    return f" ({'; '.join(said)})" if said else ""


def _texts(sent: bytes) -> Iterator[str]:
    pending: list[Any] = [json.loads(sent)] if sent else []
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
