"""Writing a corpus: compressed by its suffix, whole or not at all, or to standard output."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.core.errors import SfumatoError, StorageFailed
from sfumato.core.files import refuse_existing, replacing
from sfumato.corpora.compression import writing

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


def opened_stream(path: Path) -> BinaryIO:
    """Standard output, another open file or a device, for writing."""
    if path == STDOUT:
        return os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    number = {"/dev/stdout": "1", "/dev/stderr": "2"}.get(str(path), path.name)
    if _STANDARD.fullmatch(str(path)) and number.isdigit():
        # Opening it by name would empty the file behind it.
        return os.fdopen(os.dup(int(number)), "wb")
    return path.open("wb")


@contextmanager
def written(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A stream whose content stands in ``path`` when all went well."""
    try:
        if is_stream(path):
            with opened_stream(path) as stream:
                yield stream
        else:
            refuse_existing(path, overwrite=overwrite)
            with replacing(path) as raw, writing(raw, path.suffix) as stream:
                yield stream
    except SfumatoError:
        raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) and is_stdout(path):
            raise
        raise StorageFailed(f"cannot write {path}: {error.strerror}") from None
