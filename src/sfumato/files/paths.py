"""Paths into nested records: which values of a record a name means.

A path is written as JMESPath writes it: ``user.note`` is a key below a key, ``messages[].content``
the key of every element of a list, ``messages[0]`` the first element, ``meta.*`` every value of an
object. A key that holds a dot, a bracket or a star stands in quotation marks:
``"first.name".note``. ``*`` alone is the whole record.

A column of nested records is the path with every number of an element left out, so that all
elements of a list are one column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sfumato.core.errors import InvalidArgument

WHOLE = "*"
_PLAIN = re.compile(r"[^\s.\[\]\"*]+(?: +[^\s.\[\]\"*]+)*")
_STEP = re.compile(r'"(?:[^"\\]|\\.)*"|\*|\[(?:\d*|\*)\]|[^.\[\]"*]+')

Place = tuple[str | int, ...]  # keys, and numbers of elements


@dataclass(frozen=True, slots=True)
class Step:
    """One step down: to a ``key``, to an element of a list (to all without a number), to all."""

    key: str | None = None
    element: bool = False
    number: int | None = None

    @property
    def many(self) -> bool:
        """Whether it may lead to several values."""
        return self.key is None and self.number is None

    def takes(self, part: str | int) -> bool:
        """Whether it leads to this key, or to this element."""
        if self.element:
            return isinstance(part, int) and self.number in (None, part)
        return isinstance(part, str) and self.key in (None, part)


@cache
def parse_path(written: str) -> tuple[Step, ...]:
    """The steps of a path.

    >>> [step.key for step in parse_path('user."first.name"')]
    ['user', 'first.name']
    >>> [step.many for step in parse_path("messages[].content")]
    [False, True, False]
    """
    steps: list[Step] = []
    place = 0
    while place < len(written):
        if steps and written[place] == ".":
            place += 1
        elif steps and written[place] != "[":
            raise _unreadable(written)
        found = _STEP.match(written, place)
        if found is None or (found[0].startswith("[") and written[place - 1 : place] == "."):
            raise _unreadable(written)
        steps.append(_step(found[0], written))
        place = found.end()
    if not steps or written.endswith("."):
        raise _unreadable(written)
    return tuple(steps)


def column_of(place: Place) -> str:
    """The name of the column in which a value stands.

    >>> column_of(("messages", 3, "first.name"))
    'messages[]."first.name"'
    """
    written = ""
    for part in place:
        if isinstance(part, int):
            written += "[]"
        else:
            plain = _PLAIN.fullmatch(part)
            written += "." * bool(written) + (part if plain else json.dumps(part))
    return written


def leads_to(written: str, place: Place, *, below: bool = False) -> bool:
    """Whether a path means the value at a place, or (``below``) something that it stands in.

    >>> leads_to("user", ("user", "note")), leads_to("user", ("user", "note"), below=True)
    (False, True)
    >>> leads_to("a.b", ("a.b",))
    True
    """
    if written == WHOLE:
        return below or len(place) == 1
    if place and place[0] == written and (below or len(place) == 1):
        return True  # a key that is spelled like a path
    steps = parse_path(written)
    if len(place) < len(steps) or (len(place) > len(steps) and not below):
        return False
    return all(step.takes(part) for step, part in zip(steps, place, strict=False))


def names_many(written: str) -> bool:
    """Whether a path may lead to several texts of one record."""
    return any(step.many for step in parse_path(written))


def refuse_elements(written: str) -> None:
    """What is dropped is a member of an object: without it a list would be renumbered."""
    if written == WHOLE or (steps := parse_path(written))[-1].element or steps[-1].many:
        raise InvalidArgument(f"`drop=...` names a column or key, and {written!r} is none")


def split_names(given: Sequence[str]) -> list[str]:
    """Names that may stand together with commas between; quotation marks keep a comma.

    >>> split_names(["subject, body", "user.note"]), split_names(['"a,b"'])
    (['subject', 'body', 'user.note'], ['a,b'])
    """
    found: list[str] = []
    for one in given:
        pieces = re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^,"]|")+', one) or [one]
        for piece in map(str.strip, pieces):
            quoted = piece.startswith('"') and piece.endswith('"') and "," in piece
            found.append(piece[1:-1] if quoted else piece)
    return found


def _step(written: str, path: str) -> Step:
    if written == "*":
        return Step()
    if written.startswith("["):
        inside = written[1:-1]
        return Step(element=True, number=int(inside) if inside.isdigit() else None)
    if written.startswith('"'):
        try:
            return Step(key=str(json.loads(written)))
        except ValueError:
            raise _unreadable(path) from None
    return Step(key=written)


def _unreadable(written: str) -> InvalidArgument:
    return InvalidArgument(
        f"{written!r} is not a path; write user.note, messages[].content, messages[0].content, "
        'meta.* or "a.key".note'
    )
