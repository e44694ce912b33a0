"""Parquet, through pyarrow (extra ``parquet``): columns of text are exchanged, all else stays.

All but what a program has written about the table and its columns (metadata): no policy looks
there, and it may say whose table it is. Nor do values stay that a dictionary holds and no row has;
a dictionary inside of a list or structure becomes plain values.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, MalformedRecord, UndecodableText
from sfumato.files import chunks
from sfumato.files.chunks import Left
from sfumato.files.layout import Layout, labels_of, language_of, missing_field
from sfumato.files.paths import WHOLE
from sfumato.text.document import Document
from sfumato.text.edits import Edited


@dataclass(frozen=True, slots=True)
class TableChunk:
    """Some rows of a table, as Arrow's own bytes so that they can travel between processes."""

    content: bytes = field(repr=False)
    layout: Layout
    first: int

    def documents(self) -> list[Document]:
        """One for each text of each row."""
        table = _table(self.content)
        layout = self.layout
        texts = self._texts(table)
        has_id = table.column_names.count(layout.id_field) == 1
        ids, authors, labels, groups, languages = (
            _values(table.column(name)) if name is not None else [None] * len(texts)
            for name in (
                layout.id_field if has_id else None,
                layout.author_field,
                layout.label_field,
                layout.group_field,
                layout.language_field,
            )
        )
        found = []
        for number, (own, name, author, label, group, given) in enumerate(
            zip(texts, ids, authors, labels, groups, languages, strict=True), start=self.first
        ):
            known, place = str(number if name is None else name), f"row {number}"
            kinds = labels_of(_spell(label), _spell(group))
            language = language_of(_spell(given))
            for text in own:
                try:
                    found.append(
                        Document(text, known, _spell(author), kinds, place, language=language)
                    )
                except UndecodableText as error:
                    raise MalformedRecord(f"{place}: {error}") from None
        return found

    def left(self) -> Iterator[Left]:
        """The cells of every other column; of nested ones what stands inside, each as a column."""
        if not self.layout.others:
            return
        table = _table(self.content)
        fields = _fields(table.schema, self.layout)
        for number, name in enumerate(table.column_names, start=1):
            kept = next((one for one in self.layout.keep if one in (name, WHOLE)), None)
            if name in fields and self.layout.whole_record:
                yield Left((name,), "", number, kept, is_text=True)
            if name not in fields:
                yield Left((name,), "", number, kept)  # a column without cells is named, too
                for value in _values(table.column(number - 1)):
                    for text in _inside(value):
                        yield Left((name,), text, number, kept)

    def dropped(self) -> set[str]:
        """All of them: a name that is no column was refused."""
        return set(self.layout.drop)

    def texts_per_record(self) -> list[int]:
        """How many texts each row has that has any."""
        return [len(own) for own in self._texts(_table(self.content)) if own]

    def _texts(self, table: Any) -> list[list[str]]:
        """The texts of each row, in the order in which the fields were named."""
        columns = [_values(table.column(field)) for field in _fields(table.schema, self.layout)]
        if not columns:
            return [[] for _ in range(table.num_rows)]
        return [[text for text in row if text is not None] for row in zip(*columns, strict=True)]

    def rewritten(self, edited: Sequence[Edited]) -> bytes:
        """The rows with new texts; nulls stay nulls, the schema stays the schema."""
        arrow = _arrow()
        table = _table(self.content)
        places = [table.column_names.index(name) for name in _fields(table.schema, self.layout)]
        remaining = iter(edited)
        rows = zip(*(table.column(place).to_pylist() for place in places), strict=True)
        changed = [[None if old is None else next(remaining).text for old in row] for row in rows]
        for number, place in enumerate(places):
            kind = table.schema.field(place)
            column = arrow.array([row[number] for row in changed], type=_plain(kind.type))
            table = table.set_column(place, kind, column.cast(kind.type))
        return _content(table)


def read(stream: BinaryIO, layout: Layout) -> Iterator[TableChunk]:
    """Groups of rows of a Parquet file."""
    arrow = _arrow()
    try:
        source = _parquet().ParquetFile(_seekable(stream))
        schema = source.schema_arrow
    except arrow.ArrowInvalid:
        raise BadInput("this is not a Parquet file, or it is cut short") from None
    wanted = list(layout.wanted)
    wanted += [("drop", name) for name in layout.drop]
    wanted += [("keep", name) for name in layout.keep if name != WHOLE]
    for setting, name in wanted:
        if name not in schema.names:
            raise missing_field(name, schema.names, where="the table", setting=setting)
        if schema.names.count(name) > 1:
            raise BadInput(f"the table has the column {name!r} twice")
    whole = schema
    schema = _arrow().schema([_bare(one) for one in schema])
    kept = [place for place, name in enumerate(whole.names) if name not in layout.drop]
    told = schema = _arrow().schema([schema.field(place) for place in kept])
    for name in _fields(schema, layout):
        if not _is_text(schema.field(name).type):
            raise BadInput(f"the column {name!r} is not text")
        told = _telling_nothing(told, name)
    first = 1
    for batch in _batches(source):
        table = arrow.Table.from_batches([batch], whole).select(kept).cast(told)
        yield TableChunk(_content(_without_unused(table)), layout, first)
        first += len(batch)
    if first == 1:  # a file without rows still has a schema to give back
        yield TableChunk(_content(told.empty_table()), layout, first)


def _batches(source: Any) -> Iterator[Any]:
    try:
        yield from source.iter_batches(batch_size=chunks.RECORDS)
    except (_arrow().ArrowException, OSError):
        pass
    else:
        return
    # Outside the except block: Arrow's error may carry content along.
    raise BadInput("the table is damaged")


def assemble(parts: Iterable[Path], output: BinaryIO) -> None:
    """One Parquet file out of finished parts, each a group of rows."""
    writer: Any = None
    try:
        for part in parts:
            table = _table(part.read_bytes())
            if writer is None:
                writer = _parquet().ParquetWriter(output, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _fields(schema: Any, layout: Layout) -> list[str]:
    """The columns of text that are privatized."""
    if not layout.whole_record:
        return list(layout.fields)
    return [one.name for one in schema if _is_text(one.type)]


def _bare(field: Any) -> Any:
    """The column without what was written about it, and about what is inside it."""
    return field.with_type(_bare_type(field.type)).remove_metadata()


def _bare_inside(field: Any) -> Any:
    """The same of a field inside a column; a dictionary there may hold values of no row."""
    return _bare(field.with_type(_plain(field.type)))


def _bare_type(kind: Any) -> Any:
    arrow = _arrow()
    if arrow.types.is_struct(kind):
        return arrow.struct([_bare_inside(kind.field(place)) for place in range(kind.num_fields)])
    if arrow.types.is_map(kind):
        inside = _bare_inside(kind.key_field), _bare_inside(kind.item_field)
        return arrow.map_(*inside, kind.keys_sorted)
    if arrow.types.is_fixed_size_list(kind):
        return arrow.list_(_bare_inside(kind.value_field), kind.list_size)
    if arrow.types.is_large_list(kind):
        return arrow.large_list(_bare_inside(kind.value_field))
    if arrow.types.is_list(kind):
        return arrow.list_(_bare_inside(kind.value_field))
    return kind


def _without_unused(table: Any) -> Any:
    """The table with dictionaries of those values only that stand in a row: others nobody sees."""
    for place, kind in enumerate(table.schema):
        if _arrow().types.is_dictionary(kind.type):
            column = table.column(place).cast(_plain(kind.type)).dictionary_encode()
            table = table.set_column(place, kind, column.cast(kind.type))
    return table


def _inside(value: Any) -> Iterator[str]:
    """The texts and numbers in a cell, which may hold lists and structures."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending += one.values()
        elif isinstance(one, list | tuple):
            pending += one
        elif isinstance(one, bytes):
            yield one.decode("utf-8", "replace")
        elif one is not None and not isinstance(one, bool):
            yield str(one)


def _telling_nothing(schema: Any, name: str) -> Any:
    """The schema with a plain column of text: a dictionary's type tells how many texts differ."""
    place = schema.names.index(name)
    kind = schema.field(place)
    if kind.type == _plain(kind.type):
        return schema
    return schema.set(place, kind.with_type(_plain(kind.type)))


def _values(column: Any) -> list[Any]:
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        pass
    # Outside the except block: the original error carries the bytes along.
    raise UndecodableText("a column of text holds bytes that are not utf-8")


def _spell(value: Any) -> str | None:
    return None if value is None else str(value)


def _seekable(stream: BinaryIO) -> BinaryIO:
    # The directory of a Parquet file stands at its end, so a pipe has to be read whole.
    return stream if stream.seekable() else io.BytesIO(stream.read())


def _content(table: Any) -> bytes:
    sink = io.BytesIO()
    with _ipc().new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _table(content: bytes) -> Any:
    return _ipc().open_stream(content).read_all()


def _plain(kind: Any) -> Any:
    return kind.value_type if _arrow().types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    types = _arrow().types
    kind = _plain(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _arrow() -> Any:
    return extra("pyarrow", needed_for="Parquet", extra="parquet")


def _parquet() -> Any:
    return extra("pyarrow.parquet", needed_for="Parquet", extra="parquet")


def _ipc() -> Any:
    return extra("pyarrow.ipc", needed_for="Parquet", extra="parquet")
