"""Plain text: one document per line, or the whole file as one document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from sfumato.corpora.edits import Edited
from sfumato.corpora.formats.chunks import Record, TextChunk, chunked
from sfumato.corpora.formats.layout import Layout
from sfumato.corpora.formats.lines import decode, decoded, split_terminator


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a text file; line ends are kept as they are."""
    records = _whole(stream, layout) if layout.whole_file else _lines(stream, layout)
    return chunked(records, spell, layout.encoding)


def spell(literal: str, edited: Edited) -> str:  # noqa: ARG001  # plain text has one spelling
    """Plain text stands for itself."""
    return edited.text


def _lines(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    for number, line in decoded(stream, layout.encoding):
        text, end = split_terminator(line)
        yield Record("", text, end, text, str(number), number)


def _whole(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    text = decode(stream.read(), layout.encoding)
    yield Record("", text, "", text, "1", 1)
