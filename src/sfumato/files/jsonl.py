"""JSON lines: the one value is exchanged in the line, every other character of it stays.

Parsing a record and writing it anew would round large numbers, drop repeated keys and change
white space. So only the place of the text in the line is looked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, BinaryIO

from sfumato.core.errors import MalformedRecord
from sfumato.files.chunks import Record, TextChunk, chunk_records
from sfumato.files.layout import Layout, labels_of, missing_field
from sfumato.files.lines import decode_lines
from sfumato.text.edits import Edit, Edited, splice

_SPACE = " \t\n\r"
_MARK = "\ufeff"


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a file with one JSON object per line."""
    escaping = partial(spell, ascii_only=layout.encoding != "utf-8")
    return chunk_records(_records(stream, layout), escaping, layout.encoding)


def spell(literal: str, edited: Edited, *, ascii_only: bool = False) -> str:
    """The literal with the edits made in place; every escape outside them stays as it was.

    How a replacement is escaped must not depend on the word it replaces, so it is a constant.
    """
    places = _places(literal)
    edits = (
        Edit(places[start], places[end], json.dumps(new, ensure_ascii=ascii_only)[1:-1])
        for start, end, new in edited.edits
    )
    return splice(literal, edits)


def _places(literal: str) -> Sequence[int]:
    """Where each character of the text, and its end, stands in the literal."""
    if "\\" not in literal:
        return range(1, len(literal))
    starts = [match.start() + 1 for match in _character().finditer(literal[1:-1])]
    return [*starts, len(literal) - 1]


@dataclass(frozen=True, slots=True)
class _Member:
    value: Any = field(repr=False)
    start: int
    end: int


def _records(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    count = 0
    for number, line in decode_lines(stream, layout.encoding):
        if not line.strip(_SPACE + _MARK):
            yield Record(line, line=number)
            continue
        count += 1
        members = _members(line, number)
        places = []
        for name in layout.fields:
            member = _single(members, name, number)
            if member.value is not None and type(member.value) is not str:
                raise MalformedRecord(f"line {number}: the field {name!r} is not text")
            if member.value is not None:
                places.append((member.start, member.end, member.value))
        if not places:
            yield Record(line, line=number)
            continue
        yield from Record(
            line,
            id=_identity(members, layout, count),
            line=number,
            author=_name(members, "author_field", layout.author_field, number),
            labels=labels_of(_name(members, "label_field", layout.label_field, number)),
        ).with_texts(places)


def _single(
    members: dict[str, list[_Member]], field: str, line: int, setting: str = "field"
) -> _Member:
    found = members.get(field, [])
    if not found:
        raise missing_field(field, members, where=f"line {line}", setting=setting)
    if len(found) > 1:
        # Readers disagree on which of two equal keys counts; either could hold the secret.
        raise MalformedRecord(f"line {line}: the field {field!r} stands there twice")
    return found[0]


def _identity(members: dict[str, list[_Member]], layout: Layout, count: int) -> str:
    given = members.get(layout.id_field)
    value = given[0].value if given else None
    return str(value) if isinstance(value, str) else str(count)


def _name(
    members: dict[str, list[_Member]], setting: str, field: str | None, line: int
) -> str | None:
    """The author or label of a record, as text."""
    if field is None:
        return None
    value = _single(members, field, line, setting).value
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return str(value).lower()
    raise MalformedRecord(f"line {line}: the field {field!r} is neither text nor a number")


def _members(line: str, number: int) -> dict[str, list[_Member]]:
    """The members of the object in a line with the places of their values."""
    try:
        return _parse(line)
    except json.JSONDecodeError as error:
        problem, place = error.msg, error.pos
    except RecursionError:
        problem, place = "nested too deeply", 0
    # Outside the except block: the original error carries the line along.
    raise MalformedRecord(f"line {number} is not a JSON object: {problem} (character {place + 1})")


def _parse(line: str) -> dict[str, list[_Member]]:
    members: dict[str, list[_Member]] = {}
    place = _expect("{", line, _skip(line, 1 if line.startswith(_MARK) else 0))
    place = _skip(line, place)
    if line[place : place + 1] == "}":
        place += 1
    else:
        while True:
            _expect('"', line, place)
            key, place = _decoder().raw_decode(line, place)
            start = _skip(line, _expect(":", line, _skip(line, place)))
            value, place = _decoder().raw_decode(line, start)
            members.setdefault(key, []).append(_Member(value, start, place))
            place = _skip(line, place)
            if line[place : place + 1] != ",":
                break
            place = _skip(line, place + 1)
        place = _expect("}", line, place)
    if _skip(line, place) != len(line):
        raise json.JSONDecodeError("Extra data", line, place)
    return members


def _skip(line: str, place: int) -> int:
    while place < len(line) and line[place] in _SPACE:
        place += 1
    return place


def _expect(character: str, line: str, place: int) -> int:
    if line[place : place + 1] != character:
        raise json.JSONDecodeError(f"Expecting '{character}'", line, place)
    return place + 1


@cache
def _character() -> re.Pattern[str]:
    pair = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    return re.compile(rf"{pair}|\\u[0-9a-fA-F]{{4}}|\\.|.", re.DOTALL)


class _Number(str):
    """A number as it is spelled: it is never written anew, so it need not be converted."""


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(parse_float=_Number, parse_int=_Number)
