"""Plain text: one document per line, or the whole file as one document.

Lines are decoded here for all formats, with errors that give the place and not the content.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from sfumato.core.errors import UndecodableText
from sfumato.files.chunks import Record, TextChunk, chunk_records
from sfumato.files.layout import Layout
from sfumato.text.edits import Edited


def decode_lines(
    lines: Iterable[bytes], encoding: str, skipped: int = 0
) -> Iterator[tuple[int, str]]:
    """Each line with its number, after so many that were left out; terminators stay."""
    offset = 0
    for number, line in enumerate(lines, start=1 + skipped):
        yield number, decode(line, encoding, offset=offset, line=number)
        offset += len(line)


def decode(content: bytes, encoding: str, *, offset: int = 0, line: int = 1) -> str:
    """Decode, or say at which byte it fails."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        place = error.start
    wide = _wide_encoding(content) if line == 1 else None
    # Outside the except block: the original error carries the bytes along.
    raise UndecodableText(
        f"not valid {encoding} at byte {offset + place} (line {line}); "
        + (
            "`encoding=NAME` names another encoding"
            if wide is None
            else f'it looks like {wide}, in which programs on Windows write "Unicode" text: '
            f"convert the file first (iconv -f {wide} -t UTF-8 IN > OUT)"
        )
    )


def _wide_encoding(start: bytes) -> str | None:
    """The encoding with two or four bytes for every letter that a file begins in, if it does."""
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    return None


def split_terminator(line: str) -> tuple[str, str]:
    r"""A line and what ends it: ``\n``, ``\r\n`` or nothing."""
    body = line.removesuffix("\n")
    body = body.removesuffix("\r") if len(body) < len(line) else body
    return body, line[len(body) :]


def read(stream: BinaryIO, layout: Layout) -> Iterator[TextChunk]:
    """The documents of a text file; line ends are kept as they are."""
    records = _whole(stream, layout) if layout.whole_file else _lines(stream, layout)
    return chunk_records(records, spell, layout.encoding, live=layout.live)


def spell(literal: str, edited: Edited) -> str:  # noqa: ARG001  # plain text has one spelling
    """Plain text stands for itself."""
    return edited.text


def _lines(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    for number, line in decode_lines(stream, layout.encoding, layout.skipped):
        text, end = split_terminator(line)
        yield Record("", text, end, text, str(number), number)


def _whole(stream: BinaryIO, layout: Layout) -> Iterator[Record]:
    text = decode(stream.read(), layout.encoding)
    yield Record("", text, "", text, "1", 1)
