"""CoNLL: a word and its tag in each line, an empty line between texts.

The first column is the word, the last one its tag in BIO: ``B-PER`` begins a span of type PER,
``I-PER`` continues it, ``O`` is outside. An ``I-PER`` after another type or after ``O`` begins one,
too, as in older files. The text of a document is its words with a blank between any two, and its
spans are those of the tags. A line that begins with ``-DOCSTART-`` counts as an empty one.

The format is read only: where the words stood in the original text is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from sfumato.core.errors import InvalidArgument, MalformedRecord
from sfumato.files.chunks import Record, TextChunk, chunk_records
from sfumato.files.labeled_spans import gold
from sfumato.files.layout import Layout
from sfumato.files.lines import decode_lines
from sfumato.text.edits import Edited
from sfumato.text.span import Spans
from sfumato.text.tagging import OUTSIDE, parts_of

_COLUMNS = re.compile(r"[\t ]+")
_TOP = "-DOCSTART-"

_Word = tuple[str, str]


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a file, with their spans."""
    return chunk_records(_records(stream, layout), _refuse, layout.encoding)


def _refuse(literal: str, edited: Edited) -> str:  # noqa: ARG001  # as any format spells a text
    raise InvalidArgument("conll is read and not written")


def _records(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    count, first = 0, 1
    words: list[_Word] = []
    for number, line in decode_lines(stream, layout.encoding):
        word = _word(line, number)
        if word is not None:
            if not words:
                first = number
            words.append(word)
        elif words:
            count += 1
            yield _record(words, count, first)
            words = []
    if words:
        yield _record(words, count + 1, first)


def _word(line: str, number: int) -> _Word | None:
    """The word of a line and its tag; None between two texts."""
    stripped = line.strip("\r\n\ufeff")
    if not stripped.strip() or stripped.startswith(_TOP):
        return None
    columns = _COLUMNS.split(stripped)
    # Neither is quoted: a file in another format may have private text in its last column.
    if len(columns) < 2 or parts_of(columns[-1]) is None:
        raise MalformedRecord(f"line {number} must have a word, and O, B-TYPE or I-TYPE at its end")
    return columns[0], columns[-1]


def _record(words: list[_Word], count: int, line: int) -> Record:
    text, spans, open_ = "", list[tuple[int, int, str]](), ""
    for word, tag in words:
        start = len(text) + bool(text)
        text += f"{' ' if text else ''}{word}"
        letter, kind = parts_of(tag) or (OUTSIDE, "")
        if letter == "I" and open_ == kind:
            start = spans.pop()[0]
        if letter != OUTSIDE:
            spans.append((start, len(text), kind))
        open_ = kind
    return Record(
        "", text, "\n", text, str(count), line, spans=Spans.of(gold(*one) for one in spans)
    )
