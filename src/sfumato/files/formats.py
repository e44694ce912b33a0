"""Which format a file has, and how it is read and put together again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sfumato.core.errors import UnknownName
from sfumato.files import conll, jsonl, lines, parquet, separated, workbook
from sfumato.files.chunks import Chunk
from sfumato.files.layout import Layout
from sfumato.files.output import without_compression


@dataclass(frozen=True, slots=True)
class Format:
    """A way to read chunks and to make one file of the parts that came of them.

    ``dialect`` says which settings of a dialect the format has, ``live`` whether its records can be
    handed on one by one while it is written. With ``has_spans`` documents come with labeled spans;
    one that is not ``is_written`` can only be read. ``by_lines``: every line of a file means the
    same whatever stands before it, so that a chunk can be read without those before it.
    """

    name: str
    read: Callable[[BinaryIO, Layout], Iterator[Chunk]]
    assemble: Callable[[Iterable[Path], BinaryIO], None]
    has_fields: bool
    dialect: tuple[str, ...] = ()
    live: bool = True
    has_spans: bool = False
    is_written: bool = True
    by_lines: bool = False


def join_chunks(parts: Iterable[Path], output: BinaryIO) -> None:
    """Text parts one after the other."""
    for part in parts:
        with part.open("rb") as stream:
            shutil.copyfileobj(stream, output, 1 << 20)


_TABLE = ("delimiter", "quote", "header")
FORMATS = {
    "txt": Format("txt", lines.read, join_chunks, False, by_lines=True),
    "jsonl": Format("jsonl", jsonl.read, join_chunks, True, has_spans=True, by_lines=True),
    "csv": Format("csv", separated.read, join_chunks, True, _TABLE),
    "tsv": Format("tsv", separated.read_tabs, join_chunks, True, _TABLE),
    "parquet": Format("parquet", parquet.read, parquet.assemble, True, live=False),
    "xlsx": Format("xlsx", workbook.read, join_chunks, True, ("header", "sheet"), live=False),
    "conll": Format(
        "conll", conll.read, join_chunks, False, live=False, has_spans=True, is_written=False
    ),
}
_SUFFIXES = {".txt": "txt", ".text": "txt", ".md": "txt", ".log": "txt", ".raw": "txt"} | {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
    ".conll": "conll",
    ".iob2": "conll",
}


def format_named(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise UnknownName("format", name, FORMATS)
    return FORMATS[name]


def of_path(path: Path) -> Format | None:
    """The format that a file's suffix tells, compression aside."""
    name = _SUFFIXES.get(without_compression(path).suffix.lower())
    return FORMATS[name] if name else None
