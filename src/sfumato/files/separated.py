"""CSV and TSV: the one column is exchanged in each row, every other character of it stays.

In CSV quoting follows RFC 4180: a field that begins with a quotation mark runs to the next single
one and may hold separators and line breaks; elsewhere a quotation mark is an ordinary character. In
TSV there is no quoting: a field is what stands between two tabs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from sfumato.core.errors import MalformedRecord
from sfumato.files.chunks import Record, TextChunk, chunk_records
from sfumato.files.layout import Layout, labels_of, missing_field
from sfumato.files.lines import decode_lines, split_terminator
from sfumato.text.edits import Edited

_MARK = "\ufeff"


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a CSV file whose first row names the columns."""
    rows = _rows(decode_lines(stream, layout.encoding), ",", quoting=True)
    return chunk_records(_records(rows, layout), spell, layout.encoding)


def read_tabs(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a TSV file whose first row names the columns."""
    rows = _rows(decode_lines(stream, layout.encoding), "\t", quoting=False)
    return chunk_records(_records(rows, layout), spell_plainly, layout.encoding)


def spell_plainly(literal: str, edited: Edited) -> str:  # noqa: ARG001  # one spelling only
    """A field of a TSV file stands for itself; a tab in a replacement would end it."""
    return edited.text.replace("\t", " ")


def spell(literal: str, edited: Edited) -> str:  # noqa: ARG001  # see below
    """Quoted, always: that only the old words needed the quotation marks must not show."""
    return '"' + edited.text.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class _Row:
    text: str = field(repr=False)
    fields: list[tuple[int, int]]
    line: int
    quoting: bool

    def value(self, column: int) -> str:
        start, end = self.fields[column]
        literal = self.text[start:end]
        quoted = self.quoting and literal.startswith('"')
        return literal[1:-1].replace('""', '"') if quoted else literal


def _records(rows: Iterator[_Row], layout: Layout) -> Iterator[Record]:
    header = next(rows, None)
    if header is None:
        return
    names = [header.value(column) for column in range(len(header.fields))]
    for setting, name in layout.wanted:
        if name not in names:
            # A file without a header has data in its first row: it must not be quoted.
            where = "the first row, which names the columns"
            if len(names) == 1 and ";" in names[0]:
                where += " (they seem to be separated by semicolons; only commas and tabs are read)"
            raise missing_field(name, names, where=where, setting=setting, quotable=False)
        if names.count(name) > 1:
            raise MalformedRecord(f"the first row names the column {name!r} twice")
    columns = [names.index(field) for field in layout.fields]
    identity = names.index(layout.id_field) if layout.id_field in names else None
    author, label = (_column(names, one) for one in (layout.author_field, layout.label_field))
    yield Record(header.text, line=header.line)
    for count, row in enumerate(rows, start=1):
        if len(row.fields) == 1 and not row.value(0) and len(names) > 1:
            yield Record(row.text, line=row.line)  # an empty line
            continue
        if len(row.fields) != len(names):
            raise MalformedRecord(
                f"line {row.line} has {len(row.fields)} fields, the first row has {len(names)}"
            )
        yield from Record(
            row.text,
            id=str(count) if identity is None else row.value(identity),
            line=row.line,
            author=None if author is None else row.value(author) or None,
            labels=labels_of(None if label is None else row.value(label) or None),
        ).with_texts((*row.fields[column], row.value(column)) for column in columns)


def _column(names: list[str], field: str | None) -> int | None:
    return None if field is None else names.index(field)


def _rows(lines: Iterator[tuple[int, str]], separator: str, *, quoting: bool) -> Iterator[_Row]:
    for number, line in lines:
        text = line
        fields: list[tuple[int, int]] = []
        place = 1 if number == 1 and line.startswith(_MARK) else 0
        while True:
            if quoting and text.startswith('"', place):
                text, end = _quote(text, place, lines, number)
            else:
                end = _bare_end(text, place, separator)
            fields.append((place, end))
            if not text.startswith(separator, end):
                break
            place = end + 1
        if end != len(split_terminator(text)[0]):
            raise MalformedRecord(f"line {number}: something follows a closing quotation mark")
        yield _Row(text, fields, number, quoting)


def _quote(text: str, place: int, lines: Iterator[tuple[int, str]], number: int) -> tuple[str, int]:
    """The row with as many lines as the field at ``place`` needs, and where that field ends."""
    pieces, length = [text], len(text)
    end = _closing(text, place + 1)
    while end is None:
        following = next(lines, None)
        if following is None:
            raise MalformedRecord(f"line {number}: a quotation mark is opened and never closed")
        # The end is looked for in the new line only: a long field costs its length, not its square.
        end = _closing(following[1], 0)
        end = None if end is None else end + length
        pieces.append(following[1])
        length += len(following[1])
    return "".join(pieces), end


def _closing(text: str, place: int) -> int | None:
    """Just after the quotation mark that closes a field, if it is in this text."""
    while (mark := text.find('"', place)) >= 0:
        if text[mark + 1 : mark + 2] != '"':
            return mark + 1
        place = mark + 2
    return None


def _bare_end(text: str, place: int, separator: str) -> int:
    end = text.find(separator, place)
    return end if end >= 0 else len(split_terminator(text)[0])
