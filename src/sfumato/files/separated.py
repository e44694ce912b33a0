"""CSV and TSV: columns are exchanged in each row, every other character of it stays.

In CSV quoting follows RFC 4180: a field that begins with a quotation mark runs to the next single
one and may hold separators and line breaks; elsewhere a quotation mark is an ordinary character. In
TSV there is no quoting, unless it is asked for: a field is what stands between two tabs. What
separates and what quotes is read off the beginning of a CSV file, unless it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import BinaryIO

from sfumato.core.errors import MalformedRecord
from sfumato.files.chunks import Left, Record, TextChunk, chunk_records
from sfumato.files.dialect import BEGINNING, Dialect
from sfumato.files.json_places import cuts
from sfumato.files.layout import Layout, is_usual_name, labels_of, language_of, missing_field
from sfumato.files.lines import decode_lines, split_terminator
from sfumato.files.paths import WHOLE, Place
from sfumato.text.edits import Edited

_MARK = "\ufeff"


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a CSV file; its first row names the columns, unless told otherwise."""
    lines: Iterator[bytes] = iter(stream)
    dialect = layout.dialect
    if dialect.delimiter is None or dialect.quote is None:
        beginning, lines = _beginning(lines, layout)
        dialect = read_off(beginning, layout)
    return _read(lines, layout, dialect)


def read_tabs(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a TSV file; its first row names the columns, unless told otherwise."""
    given = layout.dialect
    dialect = replace(given, delimiter=given.delimiter or "\t", quote=given.quote or "")
    return _read(iter(stream), layout, dialect)


def read_off(beginning: bytes, layout: Layout) -> Dialect:
    """The dialect of a CSV file that begins like this."""
    text = beginning.decode(layout.encoding, "replace")
    named = [name for _, name in layout.wanted]
    return layout.dialect.read_off(text, named)


def spell_plainly(literal: str, edited: Edited, *, delimiter: str = "\t") -> str:  # noqa: ARG001
    """A field without quoting stands for itself; a separator in a replacement would end it."""
    return edited.text.replace(delimiter, " ").replace("\n", " ")


def spell(literal: str, edited: Edited, *, quote: str = '"') -> str:  # noqa: ARG001  # see below
    """Quoted, always: that only the old words needed the quotation marks must not show."""
    return quote + edited.text.replace(quote, quote * 2) + quote


def _read(lines: Iterator[bytes], layout: Layout, dialect: Dialect) -> Iterator[TextChunk]:
    separator, quote = dialect.delimiter or ",", dialect.quote or ""
    rows = _rows(decode_lines(lines, layout.encoding), separator, quote)
    spelled = partial(spell, quote=quote) if quote else partial(spell_plainly, delimiter=separator)
    records = _records(rows, layout, dialect)
    return chunk_records(records, spelled, layout.encoding, live=layout.live)


def _beginning(lines: Iterator[bytes], layout: Layout) -> tuple[bytes, Iterator[bytes]]:
    """The first lines, and all lines; of what arrives live the first must be enough."""
    first: list[bytes] = []
    size = 0
    for line in lines:
        first.append(line)
        size += len(line)
        if layout.live or size >= BEGINNING:
            break
    return b"".join(first)[:BEGINNING], chain(first, lines)


@dataclass(frozen=True, slots=True)
class _Row:
    text: str = field(repr=False)
    fields: list[tuple[int, int]]
    line: int
    quote: str

    def value(self, column: int) -> str:
        start, end = self.fields[column]
        literal = self.text[start:end]
        if self.quote and literal.startswith(self.quote):
            return literal[1:-1].replace(self.quote * 2, self.quote)
        return literal


@dataclass(frozen=True, slots=True)
class _Columns:
    """What becomes of each column, by its place in a row."""

    names: list[str]
    texts: list[int]
    dropped: set[int]
    left: list[tuple[int, Place, str | None]]
    unnamed: tuple[Left, ...]

    @classmethod
    def of(cls, names: list[str], layout: Layout, dialect: Dialect) -> _Columns:
        _refuse_missing(names, layout, dialect)
        texts = [
            place
            for place, name in enumerate(names)
            if (layout.whole_record or name in layout.fields) and name not in layout.drop
        ]
        if not layout.whole_record:
            texts.sort(key=lambda place: layout.fields.index(names[place]))
        dropped = {place for place, name in enumerate(names) if name in layout.drop}
        others = set(range(len(names))) - dropped - set(texts)
        left: list[tuple[int, Place, str | None]] = [
            (place, (names[place],), _kept(layout, names[place]))
            for place in sorted(others if layout.others else ())
        ]
        # Whoever says "every column" has not seen their names, which are data without a header.
        unnamed = tuple(
            Left((names[place],), "", place + 1, _kept(layout, names[place]), is_text=True)
            for place in (texts if layout.others and layout.whole_record else ())
        )
        return cls(names, texts, dropped, left, unnamed)

    def record(self, row: _Row, about: Record, *, is_header: bool = False) -> Iterator[Record]:
        """A row without what is dropped; of a header the columns are named and nothing else."""
        left = tuple(
            Left(name, "" if is_header else row.value(place), place + 1, kept)
            for place, name, kept in self.left
        )
        if is_header:
            left += self.unnamed
        texts = () if is_header else self.texts
        gone = tuple(dict.fromkeys(self.names[place] for place in sorted(self.dropped)))
        return replace(about, left=left, dropped=gone).with_texts(
            ((*row.fields[place], row.value(place)) for place in texts),
            cuts(row.fields, self.dropped) if self.dropped else (),
        )


def _records(rows: Iterator[_Row], layout: Layout, dialect: Dialect) -> Iterator[Record]:
    header = next(rows, None)
    if header is None:
        return
    width = len(header.fields)
    if dialect.header:
        # Blanks around a name are part of the file and not of the name.
        names = [header.value(column).strip() for column in range(width)]
    else:
        names = [str(column + 1) for column in range(width)]
    columns = _Columns.of(names, layout, dialect)
    identity = names.index(layout.id_field) if layout.id_field in names else None
    author, label, group, language = (
        _column(names, one)
        for one in (
            layout.author_field,
            layout.label_field,
            layout.group_field,
            layout.language_field,
        )
    )
    if dialect.header:
        yield from columns.record(header, Record(header.text, line=header.line), is_header=True)
    else:
        rows = chain([header], rows)
    for count, row in enumerate(rows, start=1):
        if len(row.fields) == 1 and not row.value(0) and width > 1:
            yield Record(row.text, line=row.line)  # an empty line
            continue
        if len(row.fields) != width:
            raise MalformedRecord(
                f"line {row.line} has {_fields(len(row.fields))}, the first row has {width}"
            )
        about = Record(
            row.text,
            id=str(count) if identity is None else row.value(identity),
            line=row.line,
            author=None if author is None else row.value(author) or None,
            labels=labels_of(
                None if label is None else row.value(label) or None,
                None if group is None else row.value(group) or None,
            ),
            language=language_of(None if language is None else row.value(language)),
        )
        yield from columns.record(row, about)


def _refuse_missing(names: list[str], layout: Layout, dialect: Dialect) -> None:
    wanted = list(layout.wanted)
    # With `keep='*'` no name is wanted: it says that whatever is there may stay.
    wanted += [("drop", name) for name in layout.drop]
    wanted += [("keep", name) for name in layout.keep if name != WHOLE]
    # A file without a header has data in its first row; a usual name shows that it has one.
    usual = any(map(is_usual_name, names))
    for setting, name in wanted:
        if name not in names:
            where = "the first row, which names the columns"
            if not dialect.header:
                where = "the columns, which are numbers without a header"
            raise missing_field(
                name, names, where=where, setting=setting, quotable=usual and dialect.header
            )
        if names.count(name) > 1 and setting != "drop":
            raise MalformedRecord(f"the first row names the column {name!r} twice")


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def _kept(layout: Layout, name: str) -> str | None:
    return next((one for one in layout.keep if one in (name, WHOLE)), None)


def _column(names: list[str], field: str | None) -> int | None:
    return None if field is None else names.index(field)


def _rows(lines: Iterator[tuple[int, str]], separator: str, quote: str) -> Iterator[_Row]:
    for number, line in lines:
        text = line
        fields: list[tuple[int, int]] = []
        place = 1 if number == 1 and line.startswith(_MARK) else 0
        while True:
            if quote and text.startswith(quote, place):
                text, end = _quote(text, place, lines, (quote, number))
            else:
                end = _bare_end(text, place, separator)
            fields.append((place, end))
            if not text.startswith(separator, end):
                break
            place = end + 1
        if end != len(split_terminator(text)[0]):
            raise MalformedRecord(f"line {number}: something follows a closing quotation mark")
        yield _Row(text, fields, number, quote)


def _quote(
    text: str, place: int, lines: Iterator[tuple[int, str]], begun: tuple[str, int]
) -> tuple[str, int]:
    """The row with as many lines as the field at ``place`` needs, and where that field ends."""
    quote, number = begun
    pieces, length = [text], len(text)
    end = _closing(text, place + 1, quote)
    while end is None:
        following = next(lines, None)
        if following is None:
            raise MalformedRecord(f"line {number}: a quotation mark is opened and never closed")
        # The end is looked for in the new line only: a long field costs its length, not its square.
        end = _closing(following[1], 0, quote)
        end = None if end is None else end + length
        pieces.append(following[1])
        length += len(following[1])
    return "".join(pieces), end


def _closing(text: str, place: int, quote: str) -> int | None:
    """Just after the quotation mark that closes a field, if it is in this text."""
    while (mark := text.find(quote, place)) >= 0:
        if text[mark + 1 : mark + 2] != quote:
            return mark + 1
        place = mark + 2
    return None


def _bare_end(text: str, place: int, separator: str) -> int:
    end = text.find(separator, place)
    return end if end >= 0 else len(split_terminator(text)[0])
