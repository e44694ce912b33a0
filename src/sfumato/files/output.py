"""Writing a corpus: compressed by its suffix, whole or not at all, or to standard output.

Closing one of these streams ends the compression and leaves the file below it open.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from sfumato.core.errors import BadInput, SfumatoError, StorageFailed
from sfumato.core.files import refuse_existing, replace_file

SUFFIXES = (".gz", ".zst")


def without_compression(path: Path) -> Path:
    """The path as it would be called uncompressed.

    >>> without_compression(Path("notes.jsonl.gz")).name
    'notes.jsonl'
    """
    return path.with_suffix("") if path.suffix.lower() in SUFFIXES else path


@contextmanager
def open_to_read(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
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
def open_to_write(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
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


STDOUT = Path("-")
_STANDARD = re.compile(r"/dev/std(in|out|err)|/dev/fd/\d+|/proc/[^/]+/fd/\d+")


def is_stream(path: Path) -> bool:
    """Whether an output is a pipe or a device, which cannot be renamed into place."""
    if path == STDOUT or _STANDARD.fullmatch(str(path)):
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def is_stdout(path: Path) -> bool:
    """Whether an output is standard output: only there may a reader leave when it has enough."""
    return path == STDOUT or str(path) in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def open_stream(path: Path) -> BinaryIO:
    """Standard output, another open file or a device, for writing."""
    if path == STDOUT:
        return os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(str(path), path.name)
    if _STANDARD.fullmatch(str(path)) and number.isdigit():
        # Opening it by name would empty the file behind it.
        return os.fdopen(os.dup(int(number)), "wb")
    return path.open("wb")


@contextmanager
def write_corpus(path: Path, *, overwrite: bool, private: bool = False) -> Iterator[BinaryIO]:
    """A stream whose content stands in ``path`` when all went well.

    A ``private`` file is for the eyes of its owner.
    """
    try:
        if is_stream(path):
            with open_stream(path) as stream:
                yield stream
        else:
            refuse_existing(path, overwrite=overwrite)
            with (
                replace_file(path, private=private) as raw,
                open_to_write(raw, path.suffix) as stream,
            ):
                yield stream
    except SfumatoError:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_stdout(path):
            raise
        raise StorageFailed(f"cannot write {path}: {error.strerror}") from None
