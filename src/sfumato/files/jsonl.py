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
from sfumato.files.chunks import Left, Record, TextChunk, chunk_records
from sfumato.files.json_places import Kind, Value, cuts, values_in
from sfumato.files.labeled_spans import read_spans
from sfumato.files.layout import Layout, labels_of, language_of, missing_field
from sfumato.files.lines import decode_lines
from sfumato.files.paths import Place, column_of, leads_to, parse_path, refuse_elements
from sfumato.text.edits import Edit, Edited, splice
from sfumato.text.span import Spans

_SPACE = " \t\n\r"
_MARK = "\ufeff"


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a file with one JSON object per line."""
    escaping = partial(spell, ascii_only=layout.encoding != "utf-8")
    return chunk_records(_records(stream, layout), escaping, layout.encoding, live=layout.live)


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
    key: int
    start: int
    end: int


_Members = dict[str, list[_Member]]


def _records(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    for name in layout.drop:
        refuse_elements(name)
    for number, line in decode_lines(stream, layout.encoding, layout.skipped):
        if not line.strip(_SPACE + _MARK):
            yield Record(line, line=number)
            continue
        members = _members(line, number)
        nested = _Nested(line, members, number)
        texts = nested.every_text() if layout.whole_record else nested.texts(layout.fields)
        gone = nested.dropped(layout.drop)
        left = nested.left(layout, texts, gone) if layout.others else ()
        yield from Record(
            line,
            id=_identity(members, layout, number),
            line=number,
            author=_name(members, "author_field", layout.author_field, number),
            labels=labels_of(
                _name(members, "label_field", layout.label_field, number),
                _name(members, "group_field", layout.group_field, number),
            ),
            language=language_of(_name(members, "language_field", layout.language_field, number)),
            spans=_spans(line, members, layout, texts, number),
            left=tuple(left),
            dropped=tuple(gone.names),
        ).with_texts(((one.start, one.end, one.value) for one in texts), gone.cuts)


@dataclass(frozen=True, slots=True)
class _Gone:
    """What is dropped from a record: the names that were there, and the places to take out."""

    names: Sequence[str] = ()
    cuts: Sequence[tuple[int, int]] = ()

    def holds(self, place: int) -> bool:
        return any(start <= place < end for start, end in self.cuts)


@dataclass(slots=True)
class _Nested:
    """The object in a line, as deep as it is asked for."""

    line: str = field(repr=False)
    members: _Members = field(repr=False)
    number: int
    _values: list[Value] | None = field(default=None, repr=False)

    @property
    def values(self) -> list[Value]:
        """All values, each after those inside it; the object itself is not among them."""
        if self._values is None:
            self._values = []
            for name, found in self.members.items():
                for one in found:
                    self._values += _values_of(self.line, name, one)
        return self._values

    def every_text(self) -> list[Value]:
        return [one for one in self.values if one.kind == "text"]

    def texts(self, fields: Sequence[str]) -> list[Value]:
        """The texts that fields name, each once; null is none, and anything else is refused."""
        found: dict[int, Value] = {}
        for name in fields:
            # A key may be spelled like a path: then the key is meant.
            flat = name in self.members or _PLAIN_KEY.fullmatch(name) is not None
            several = not flat and parse_path(name)[-1].many
            for one in [self._single(name)] if flat else self._behind(name):
                if one.kind == "text":
                    found[one.start] = one
                elif not several and (one.value is not None or one.kind != "constant"):
                    raise MalformedRecord(f"line {self.number}: the field {name!r} is not text")
        return list(found.values())

    def dropped(self, names: Sequence[str]) -> _Gone:
        """What to take out for names to be gone; equal keys all go."""
        if not names:
            return _Gone()
        top = [one for found in self.members.values() for one in found]
        top.sort(key=lambda one: one.key)
        siblings: dict[int, list[tuple[Place, int, int]]] = {}
        by_key = {one.key: name for name, found in self.members.items() for one in found}
        siblings[-1] = [((by_key[one.key],), one.key, one.end) for one in top]
        if any(_PLAIN_KEY.fullmatch(name) is None for name in names):
            self._add_inner(siblings)
        seen: dict[str, None] = {}
        taken: list[tuple[int, int]] = []
        for row in siblings.values():
            out = set()
            for place, (way, _, _) in enumerate(row):
                for name in names:
                    if leads_to(name, way):
                        out.add(place)
                        seen[name] = None
            taken += cuts([(start, end) for _, start, end in row], out)
        return _Gone(tuple(seen), _outermost(taken))

    def _add_inner(self, siblings: dict[int, list[tuple[Place, int, int]]]) -> None:
        for index, one in enumerate(self.values):
            if one.kind == "object" and one.inside:
                depth = len(one.place) + 1
                inner = self.values[index - one.inside : index]
                siblings[one.start] = sorted(
                    ((it.place, it.key, it.end) for it in inner if len(it.place) == depth),
                    key=lambda found: found[1],
                )

    def left(self, layout: Layout, texts: Sequence[Value], gone: _Gone) -> Iterator[Left]:
        """Every other cell; what holds neither text nor number is there to be named only."""
        taken = {one.start for one in texts}
        if layout.means_many:
            for one in texts:
                yield Left(_way(one.place), "", kept=layout.kept(one.place), is_text=True)
        for one in self.values:
            is_cell = one.inside == 0 and one.start not in taken and not gone.holds(one.start)
            if is_cell and not _is_missing_text(layout, one):
                text = str(one.value) if one.kind in ("text", "number") else ""
                # A list is a column of its elements, also where it has none.
                place = (*one.place, 0) if one.kind == "array" else one.place
                yield Left(_way(place), text, kept=layout.kept(place))

    def _single(self, name: str) -> Value:
        return _value_of(name, _single(self.members, name, self.number))

    def _behind(self, name: str) -> list[Value]:
        """What a path leads to; a key that is missing on the way is an error, null is not."""
        steps, reached = parse_path(name), [_whole_line(self.line)]
        children = self._children()
        for step in steps:
            following: list[Value] = []
            for one in reached:
                if one.kind == "constant" and one.value is None:
                    continue
                inside = children.get(one.start, [])
                if one.kind != ("array" if step.element else "object"):
                    wanted = "a list" if step.element else "an object"
                    if one.kind == "array":  # the way to it was typed
                        wanted += f" but a list: write {column_of(one.place)}[]"
                    raise MalformedRecord(
                        f"line {self.number}: the field {name!r} leads through what is not {wanted}"
                    )
                taken = [it for it in inside if step.takes(it.place[-1])]
                if step.key is not None and not taken:
                    there = [column_of(it.place) for it in inside]
                    raise missing_field(name, there, where=f"line {self.number}", keys=True)
                if step.key is not None and len(taken) > 1:
                    raise _twice(name, self.number)
                following += taken
            reached = following
        return reached

    def _children(self) -> dict[int, list[Value]]:
        """The values directly inside of each, by where that begins; -1 is the whole line."""
        found: dict[int, list[Value]] = {}
        open_: list[Value] = []
        for one in reversed(self.values):  # so what holds a value comes before it
            while open_ and not open_[-1].start <= one.start < open_[-1].end:
                open_.pop()
            found.setdefault(open_[-1].start if open_ else -1, []).append(one)
            if one.inside:
                open_.append(one)
        for inside in found.values():
            inside.reverse()
        return found


# Neither dots nor brackets, stars or quotation marks: such a name can only be a key.
_PLAIN_KEY = re.compile(r'[^.\[\]"*]+')


def _is_missing_text(layout: Layout, one: Value) -> bool:
    """Whether null, or an empty list, stands where a text would be privatized."""
    if one.value is not None or one.kind == "text":
        return False
    if layout.whole_record:
        return True
    return any(leads_to(name, one.place) or _passes(name, one.place) for name in layout.fields)


def _way(place: Place) -> Place:
    """A place without the numbers of elements: all of a list are one column."""
    return tuple(0 if isinstance(part, int) else part for part in place)


def _passes(name: str, place: Place) -> bool:
    """Whether a path leads further down from here."""
    steps = () if _PLAIN_KEY.fullmatch(name) else parse_path(name)
    return len(place) < len(steps) and all(
        step.takes(part) for step, part in zip(steps, place, strict=False)
    )


def _value_of(name: str, member: _Member) -> Value:
    value = member.value
    kind: Kind = "constant"
    if isinstance(value, dict | list):
        kind, value = ("object" if isinstance(value, dict) else "array"), None
    elif isinstance(value, _Number):
        kind = "number"
    elif isinstance(value, str):
        kind = "text"
    elif isinstance(value, float):  # NaN and Infinity, which are no JSON, but are written by many
        kind = "number"
    return Value((name,), member.key, member.start, member.end, kind, value)


def _values_of(line: str, name: str, member: _Member) -> list[Value]:
    if isinstance(member.value, dict | list):
        return values_in(line, member.start, (name,), member.key)
    return [_value_of(name, member)]


def _whole_line(line: str) -> Value:
    return Value((), -1, -1, len(line), "object")


def _outermost(taken: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(taken, key=lambda one: (one[0], -one[1])):
        if not found or start >= found[-1][1]:
            found.append((start, end))
    return found


def _single(members: _Members, field: str, line: int, setting: str = "field") -> _Member:
    found = members.get(field, [])
    if not found:
        raise missing_field(field, members, where=f"line {line}", setting=setting, keys=True)
    if len(found) > 1:
        raise _twice(field, line)
    return found[0]


def _twice(field: str, line: int) -> MalformedRecord:
    # Readers disagree on which of two equal keys counts; either could hold the secret.
    return MalformedRecord(f"line {line}: the field {field!r} stands there twice")


def _identity(members: _Members, layout: Layout, number: int) -> str:
    # Else the line: it is known to whoever passes over the lines before, blank ones or not.
    given = members.get(layout.id_field)
    value = given[0].value if given else None
    return str(value) if isinstance(value, str) else str(number)


def _name(members: _Members, setting: str, field: str | None, line: int) -> str | None:
    """The author or label of a record, as text."""
    if field is None:
        return None
    value = _single(members, field, line, setting).value
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return str(value).lower()
    raise MalformedRecord(f"line {line}: the field {field!r} is neither text nor a number")


def _spans(
    line: str, members: _Members, layout: Layout, texts: Sequence[Value], number: int
) -> Spans:
    """The labeled spans of a record's text, if they are asked for."""
    if layout.span_field is None:
        return Spans()
    member = _single(members, layout.span_field, number, "span_field")
    length = len(texts[0].value) if texts and isinstance(texts[0].value, str) else 0
    # Read once more: here numbers are kept as they are spelled.
    given = json.loads(line[member.start : member.end])
    return read_spans(given, length, f"line {number}", layout.span_field)


def _members(line: str, number: int) -> _Members:
    """The members of the object in a line with the places of their values."""
    try:
        return _parse(line)
    except json.JSONDecodeError as error:
        problem, place = error.msg, error.pos
    except RecursionError:
        problem, place = "nested too deeply", 0
    # Outside the except block: the original error carries the line along.
    raise MalformedRecord(f"line {number} is not a JSON object: {problem} (character {place + 1})")


def _parse(line: str) -> _Members:
    members: _Members = {}
    place = _expect("{", line, _skip(line, 1 if line.startswith(_MARK) else 0))
    place = _skip(line, place)
    if line[place : place + 1] == "}":
        place += 1
    else:
        while True:
            _expect('"', line, place)
            begins = place
            key, place = _decoder().raw_decode(line, place)
            start = _skip(line, _expect(":", line, _skip(line, place)))
            value, place = _decoder().raw_decode(line, start)
            members.setdefault(key, []).append(_Member(value, begins, start, place))
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
