"""Parquet, through pyarrow (extra ``parquet``): columns of text are exchanged, all else stays."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, MalformedRecord, UndecodableText
from sfumato.files.chunks import RECORDS
from sfumato.files.layout import Layout, labels_of, missing_field
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
        ids, authors, labels = (
            _values(table.column(name)) if name is not None else [None] * len(texts)
            for name in (
                layout.id_field if has_id else None,
                layout.author_field,
                layout.label_field,
            )
        )
        found = []
        for number, (own, name, author, label) in enumerate(
            zip(texts, ids, authors, labels, strict=True), start=self.first
        ):
            known, place = str(number if name is None else name), f"row {number}"
            for text in own:
                try:
                    found.append(
                        Document(text, known, _spell(author), labels_of(_spell(label)), place)
                    )
                except UndecodableText as error:
                    raise MalformedRecord(f"{place}: {error}") from None
        return found

    def texts_per_record(self) -> list[int]:
        """How many texts each row has that has any."""
        return [len(own) for own in self._texts(_table(self.content)) if own]

    def _texts(self, table: Any) -> list[list[str]]:
        """The texts of each row, in the order in which the fields were named."""
        columns = (_values(table.column(field)) for field in self.layout.fields)
        return [[text for text in row if text is not None] for row in zip(*columns, strict=True)]

    def rewritten(self, edited: Sequence[Edited]) -> bytes:
        """The rows with new texts; nulls stay nulls, the schema stays the schema."""
        arrow = _arrow()
        table = _table(self.content)
        places = [table.column_names.index(field) for field in self.layout.fields]
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
    for setting, name in layout.wanted:
        if name not in schema.names:
            raise missing_field(name, schema.names, where="the table", setting=setting)
        if schema.names.count(name) > 1:
            raise BadInput(f"the table has the column {name!r} twice")
    told = schema
    for name in layout.fields:
        if not _is_text(schema.field(name).type):
            raise BadInput(f"the column {name!r} is not text")
        told = _telling_nothing(told, name)
    first = 1
    for batch in _batches(source):
        table = arrow.Table.from_batches([batch], schema).cast(told)
        yield TableChunk(_content(table), layout, first)
        first += len(batch)
    if first == 1:  # a file without rows still has a schema to give back
        yield TableChunk(_content(told.empty_table()), layout, first)


def _batches(source: Any) -> Iterator[Any]:
    try:
        yield from source.iter_batches(batch_size=RECORDS)
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


def _telling_nothing(schema: Any, name: str) -> Any:
    """The schema with a plain column of text: a dictionary's type tells how many texts differ."""
    place = schema.names.index(name)
    kind = schema.field(place)
    if kind.type == _plain(kind.type):
        return schema
    kept = {key: value for key, value in (schema.metadata or {}).items() if key != b"pandas"}
    return schema.set(place, kind.with_type(_plain(kind.type))).with_metadata(kept)


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
