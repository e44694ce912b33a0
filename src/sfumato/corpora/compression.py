"""Streams that may be compressed; the suffix decides.

Closing one of these streams ends the compression and leaves the file below it open.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from sfumato.core.errors import BadInput

SUFFIXES = (".gz", ".zst")


def without_compression(path: Path) -> Path:
    """The path as it would be called uncompressed.

    >>> without_compression(Path("notes.jsonl.gz")).name
    'notes.jsonl'
    """
    return path.with_suffix("") if path.suffix.lower() in SUFFIXES else path


@contextmanager
def reading(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """A stream that gives the uncompressed content of ``raw``."""
    if suffix.lower() == ".gz":
        # GzipFile reads line by line slowly; a buffer on top makes it ten times faster.
        with _damage_named(), gzip.GzipFile(fileobj=raw, mode="rb") as stream:
            yield cast("BinaryIO", io.BufferedReader(stream, 1 << 17))
    elif suffix.lower() == ".zst":
        with _damage_named(), _zstd().ZstdFile(raw, "rb") as stream:
            yield cast("BinaryIO", stream)
    else:
        yield raw


@contextmanager
def writing(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """A stream whose content arrives compressed in ``raw``."""
    if suffix.lower() == ".gz":
        # Without the file name and time that gzip would write into its header.
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
            yield cast("BinaryIO", stream)
    elif suffix.lower() == ".zst":
        with _zstd().ZstdFile(raw, "wb") as stream:
            yield cast("BinaryIO", stream)
    else:
        yield raw


@contextmanager
def _damage_named() -> Iterator[None]:
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, _zstd().ZstdError):
        pass
    else:
        return
    raise BadInput("the compressed file is damaged, cut short, or not compressed at all")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
