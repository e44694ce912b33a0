"""Workbooks (``.xlsx``), through openpyxl (extra ``xlsx``): one sheet, as a table of values.

What is written is a new workbook with that one sheet, and in it the values of its cells with their
number formats. Nothing else of the old one is carried along, for text hides in every corner of a
workbook: in comments and links, in the author's name, in lists of strings that no cell uses any
more, in filters, pivot caches, other sheets, and in formulas, which become the values they had. So
the sheet is called as it was asked for, or else by a constant, and a number format with words in it
is left out.

A workbook is one chunk: it is read and written whole.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, InvalidArgument, MalformedRecord, UndecodableText
from sfumato.files.chunks import Left
from sfumato.files.layout import Layout, labels_of, language_of, missing_field
from sfumato.files.paths import WHOLE
from sfumato.text.document import Document
from sfumato.text.edits import Edited

_GENERAL = "General"
_TITLE = "Sheet1"
_MOMENT = (2000, 1, 1, 0, 0, 0)
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*")
# Digits, separators, signs and the letters of dates and times; no quoted words, no escapes.
_PLAIN_FORMAT = re.compile(
    r"General|(?:[#0?.,%/:;()\s\-+@$€£¥]|[dmyhs]|AM/PM|E[+-])+", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, and how numbers and dates are shown."""

    value: Any = field(repr=False)
    shown: str = _GENERAL


@dataclass(frozen=True, slots=True)
class WorkbookChunk:
    """All rows of a sheet; the first one names the columns, if there is a header."""

    rows: tuple[tuple[Cell, ...], ...] = field(repr=False)
    names: tuple[str, ...]
    sheet: str
    layout: Layout

    def documents(self) -> list[Document]:
        """One for each cell that is privatized and not empty."""
        layout, found = self.layout, []
        about = [
            None if name not in self.names else self.names.index(name)
            for name in (
                layout.id_field,
                layout.author_field,
                layout.label_field,
                layout.group_field,
                layout.language_field,
            )
        ]
        for number, row in self._body():
            own, author, label, group, given = (
                None if place is None else row[place].value for place in about
            )
            known, language = str(number if own is None else own), language_of(_spell(given))
            for place in self._texts(row):
                try:
                    text = _spell(row[place].value) or ""
                    labels = labels_of(_spell(label), _spell(group))
                    found.append(
                        Document(
                            text, known, _spell(author), labels, f"row {number}", language=language
                        )
                    )
                except UndecodableText as error:
                    raise MalformedRecord(f"row {number}: {error}") from None
        return found

    def texts_per_record(self) -> list[int]:
        """How many texts each row has that has any."""
        return [count for _, row in self._body() if (count := len(self._texts(row)))]

    def left(self) -> Iterator[Left]:
        """The cells that are neither privatized nor dropped."""
        fields = () if self.layout.whole_record else self.layout.fields
        others = [
            (place, name, next((one for one in self.layout.keep if one in (name, WHOLE)), None))
            for place, name in enumerate(self.names)
            if self.layout.others and name not in (*fields, *self.layout.drop)
        ]
        names_only = self.layout.whole_record
        for place, name, kept in others:
            yield Left((name,), "", place + 1, kept, is_text=names_only)
        for _, row in self._body():
            texts = set(self._texts(row))
            for place, name, kept in others:
                value = row[place].value
                if place not in texts and value is not None and not isinstance(value, bool):
                    yield Left((name,), str(value), place + 1, kept)

    def dropped(self) -> set[str]:
        """All of them: a name that is no column was refused."""
        return set(self.layout.drop)

    def rewritten(self, edited: Sequence[Edited]) -> bytes:
        """A new workbook with new texts; a cell without edits keeps the value it had."""
        remaining = iter(edited)
        kept = [place for place, name in enumerate(self.names) if name not in self.layout.drop]
        first = len(self.rows) - len(list(self._body()))
        rows = [list(row) for row in self.rows]
        for number, row in self._body():
            for place in self._texts(row):
                now = next(remaining)
                # An edit is an edit even where it puts back what was there: see ``chunks.py``.
                if now.edits:
                    rows[number - 1 + first][place] = Cell(now.text)
        return _write(self.sheet, ([row[place] for place in kept] for row in rows))

    def _body(self) -> Iterator[tuple[int, tuple[Cell, ...]]]:
        first = 1 if self.layout.dialect.header else 0
        return enumerate(self.rows[first:], start=1)

    def _texts(self, row: Sequence[Cell]) -> list[int]:
        """The cells of a row that are privatized: those of the named columns, whatever they hold.

        A number in a column of text may be that of a telephone. Of a whole record it is the texts.
        """
        layout = self.layout
        if layout.whole_record:
            return [
                place
                for place, name in enumerate(self.names)
                if isinstance(row[place].value, str) and name not in layout.drop
            ]
        places = [self.names.index(name) for name in layout.fields]
        return [place for place in places if row[place].value is not None]


def read(stream: BinaryIO, layout: Layout) -> Iterator[WorkbookChunk]:
    """The rows of one sheet."""
    content = stream.read()
    values, formulas = (_sheet(content, layout, values=values) for values in (True, False))
    rows = []
    for row, written in zip(values.iter_rows(), formulas.iter_rows(), strict=True):
        for one, other in zip(row, written, strict=True):
            if other.data_type == "f" and one.value is None:
                raise MalformedRecord(
                    f"row {one.row} of the sheet holds a formula without its value; open the "
                    "workbook in a spreadsheet program and save it"
                )
        rows.append(tuple(Cell(one.value, one.number_format or _GENERAL) for one in row))
    width = len(rows[0]) if rows else 0
    names = tuple(str(place) for place in range(1, width + 1))
    if layout.dialect.header and rows:
        given = [(_spell(cell.value) or "").strip() for cell in rows[0]]
        names = tuple(name or str(place) for place, name in enumerate(given, start=1))
    if rows:
        _refuse_missing(names, layout)
    yield WorkbookChunk(tuple(rows), names, layout.dialect.sheet or _TITLE, layout)


def _refuse_missing(names: Sequence[str], layout: Layout) -> None:
    wanted = list(layout.wanted)
    wanted += [("drop", name) for name in layout.drop]
    wanted += [("keep", name) for name in layout.keep if name != WHOLE]
    for setting, name in wanted:
        if name not in names:
            header = layout.dialect.header
            where = "the first row of the sheet" if header else "the sheet"
            raise missing_field(name, names, where=where, setting=setting, quotable=header)
        if names.count(name) > 1:
            raise BadInput(f"the sheet has the column {name!r} twice")


def _sheet(content: bytes, layout: Layout, *, values: bool) -> Any:
    load, book = _openpyxl().load_workbook, None
    with suppress(Exception):  # it fails in a dozen ways, and may quote what it read
        book = load(io.BytesIO(content), data_only=values, keep_links=False)
    if book is None or not book.worksheets:
        raise BadInput("this is not a workbook (.xlsx), or it is damaged")
    wanted = layout.dialect.sheet
    if wanted is None:
        return book.worksheets[0]
    found = [one for one in book.worksheets if one.title == wanted]
    if not found:
        raise InvalidArgument(f"`sheet={wanted!r}` is none of {len(book.worksheets)} sheets")
    return found[0]


def _write(title: str, rows: Iterable[Sequence[Cell]]) -> bytes:
    openpyxl = _openpyxl()
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for row in rows:
        sheet.append([_written(sheet, cell) for cell in row])
    # A constant: neither whose program it was nor when.
    book.properties.creator = "sfumato"
    book.properties.created = datetime(*_MOMENT, tzinfo=UTC).replace(tzinfo=None)
    content = io.BytesIO()
    book.save(content)
    return _without_time(content)


def _without_time(content: BinaryIO) -> bytes:
    """The same archive with a constant for the moment at which it was written."""
    timeless = io.BytesIO()
    moment = datetime(*_MOMENT, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with ZipFile(content) as written, ZipFile(timeless, "w", ZIP_DEFLATED) as archive:
        for name in written.namelist():
            part = written.read(name)
            if name == "docProps/core.xml":  # openpyxl sets this one when it saves
                part = _MODIFIED.sub(rb"\g<1>" + moment, part)
            archive.writestr(ZipInfo(name, _MOMENT), part, ZIP_DEFLATED)
    return timeless.getvalue()


def _written(sheet: Any, cell: Cell) -> Any:
    if cell.value is None:
        return None
    cells = extra("openpyxl.cell.cell", needed_for="a workbook", extra="xlsx")
    value = cell.value
    if isinstance(value, str):
        value = cells.ILLEGAL_CHARACTERS_RE.sub(" ", value)
    written = cells.WriteOnlyCell(sheet, value)
    if isinstance(value, str) and written.data_type == "f":
        written.data_type = "s"  # a text that begins with an equals sign is no formula
    if _PLAIN_FORMAT.fullmatch(cell.shown):  # else it is shown as any such value is
        written.number_format = cell.shown
    return written


def _spell(value: Any) -> str | None:
    return None if value is None else str(value)


def _openpyxl() -> Any:
    return extra("openpyxl", needed_for="a workbook", extra="xlsx")
