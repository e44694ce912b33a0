"""JSON that has one meaning: what a body says must not depend on who reads it.

Guarantee
    A body that two readers could take differently is refused before anything is made of it: a field
    that stands twice in one object, a number that JSON does not have (``NaN``), another encoding
    than UTF-8, or nesting that no request needs.

Why it holds
    A program before the service (one that checks levels, say) may take the first of two fields and
    this service the last. So each object is looked at when it is read, and none has a field twice.

Reference
    RFC 8259, sections 4 (names should be unique) and 8.1 (UTF-8); RFC 7493, section 2.3.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from sfumato.service.problems import Problem

DEEPEST = 64


def refuse_ambiguous(body: bytes) -> None:
    """Refuse a body that is not JSON, or not JSON with one meaning."""
    try:
        _refuse_deep(json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no))
    except (ValueError, RecursionError):
        # What the reader says may quote the text.
        raise Problem(
            400,
            "UnreadableJson",
            "the body is not JSON in UTF-8, or a field stands twice in it",
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no(_: str) -> NoReturn:
    raise ValueError


def _refuse_deep(content: Any) -> None:
    layer = [content]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for one in layer:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        layer = [one for one in inner if isinstance(one, dict | list)]
        if not layer:
            return
    raise ValueError
