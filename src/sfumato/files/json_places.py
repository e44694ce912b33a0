"""Where each value of a JSON text stands, whatever it is nested in.

A decoder gives values without their places. Only places let one value be exchanged, or one member
be taken out, with every other character left as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Literal

from sfumato.files.paths import Place

_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[^\s,\]}]+")
_CONSTANTS = {"null": None, "true": True, "false": False}

Kind = Literal["object", "array", "text", "number", "constant"]


@dataclass(frozen=True, slots=True, repr=False)
class Value:
    """A value: the way to it, where it stands, and (of a text, number or constant) what it is.

    ``key`` is where its key begins, or where it begins itself in a list. ``inside`` counts the
    values in it, at any depth, which come directly before it.
    """

    place: Place
    key: int
    start: int
    end: int
    kind: Kind
    value: Any = None
    inside: int = 0


@dataclass(slots=True)
class _Open:
    place: Place
    key: int
    start: int
    before: int
    is_object: bool
    count: int = 0


def values_in(text: str, start: int, place: Place = (), key: int | None = None) -> list[Value]:
    """The value that begins at ``start`` and all values inside it, each after what it holds.

    The text is known to be JSON. Nothing here calls itself, so depth does not matter.
    """
    found: list[Value] = []
    pending: list[_Open] = []
    key = start if key is None else key
    while True:
        opening = text[start]
        if opening in "{[":
            pending.append(_Open(place, key, start, len(found), opening == "{"))
            end = _skip(text, start + 1)
            is_empty = text[end] in "}]"
        else:
            found.append(_plain(text, start, place, key))
            end = _skip(text, found[-1].end)
            is_empty = False
        # Whatever ends here is closed; then comes the next member, or there is none.
        while pending and (is_empty or text[end] in "}]"):
            one = pending.pop()
            kind: Kind = "object" if one.is_object else "array"
            inside = len(found) - one.before
            found.append(Value(one.place, one.key, one.start, end + 1, kind, inside=inside))
            end = _skip(text, end + 1) if pending else end + 1
            is_empty = False
        if not pending:
            return found
        end = _skip(text, end + 1) if text[end] == "," else end
        place, key, start = _next_member(text, end, pending[-1])


def cuts(extents: Sequence[tuple[int, int]], dropped: Collection[int]) -> Iterator[tuple[int, int]]:
    """What to take out of a row of members so that the rest stays a row, separators included.

    >>> text = "a, b, c"
    >>> list(cuts([(0, 1), (3, 4), (6, 7)], {0})), list(cuts([(0, 1), (3, 4), (6, 7)], {1, 2}))
    ([(0, 3)], [(1, 4), (4, 7)])
    """
    kept = False
    for number, (start, end) in enumerate(extents):
        if number not in dropped:
            kept = True
        elif kept:
            yield extents[number - 1][1], end
        else:
            yield start, extents[number + 1][0] if number + 1 < len(extents) else end


def _next_member(text: str, end: int, within: _Open) -> tuple[Place, int, int]:
    if not within.is_object:
        within.count += 1
        return (*within.place, within.count - 1), end, end
    name, after = scanstring(text, end + 1)
    start = _skip(text, _skip(text, after) + 1)
    return (*within.place, name), end, start


def _plain(text: str, start: int, place: Place, key: int) -> Value:
    if text[start] == '"':
        value, end = scanstring(text, start + 1)
        return Value(place, key, start, end, "text", value)
    word = _WORD.match(text, start)
    if word is None:
        raise json.JSONDecodeError("Expecting value", text, start)
    if word[0] in _CONSTANTS:
        return Value(place, key, start, word.end(), "constant", _CONSTANTS[word[0]])
    return Value(place, key, start, word.end(), "number", word[0])


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()
