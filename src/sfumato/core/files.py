"""Atomic writing of files: under a temporary name, then renamed, so no reader sees half a file.

A file that is written as ``private`` is created with permissions for its owner alone, whatever the
umask, so there is no moment at which somebody else could open it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.core.errors import BadInput, OutputExists, SfumatoError, StorageFailed

# What code raises when a file holds something else than it expects.
_DAMAGES = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)

OWNER_ONLY = 0o600


def from_home(written: str) -> Path:
    """A path in which ``~`` stands for a home directory.

    >>> from_home("~nobody-of-that-name/model").as_posix()  # there is no such user: a plain name
    '~nobody-of-that-name/model'
    """
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


def write_whole(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write a file; a reader sees the old content or the new one, never part of it."""
    with replace_file(path, private=private) as stream:
        stream.write(content)


def write_first(path: Path, content: bytes, *, private: bool = False) -> bool:
    """Write a file unless there is one, and tell; of several that try, the first one wins."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.unfinished")
    try:
        with _create(beside, private=private) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            if path.exists():
                return False
            beside.replace(path)
        return True
    finally:
        beside.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Let the names in a folder survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(folder: Path) -> None:
    """Let a folder of plain files survive a loss of power."""
    for file in folder.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    sync_folder(folder)


@contextmanager
def replace_file(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A stream whose content replaces ``path`` if the block ends without an error."""
    beside = path.with_name(path.name + ".unfinished")
    try:
        beside.unlink(missing_ok=True)  # left by a crash, or a link that must not be followed
        with _create(beside, private=private) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _create(path: Path, *, private: bool) -> BinaryIO:
    """Create a file for writing; an error if it exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, OWNER_ONLY if private else 0o666), "wb")


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over an existing file."""
    if path.is_dir():
        raise OutputExists(f"{path} is a folder, not a file")
    if path.exists() and not overwrite:
        raise OutputExists(f"{path} exists already; `overwrite=True` replaces it")
    if not path.parent.is_dir():
        raise StorageFailed(f"cannot write {path}: there is no folder {path.parent}")


def refuse_input(path: Path, *sources: str | Path) -> None:
    """Refuse to write over what is read, whoever allows to replace a file."""
    for one in sources:
        if path.exists() and Path(one).exists() and path.samefile(one):
            raise OutputExists(f"{path} is the input; write to another file")


@contextmanager
def reading(path: Path, what: str) -> Iterator[None]:
    """Within this block, errors caused by the content of a file are reported as damage to it.

    A file may be cut off, edited or written by somebody else, so any key may be missing and any
    value may have any type. The message names the file and quotes nothing of it.
    """
    try:
        yield
    except SfumatoError:
        raise
    except OSError as error:
        problem: SfumatoError = StorageFailed(
            f"cannot read {path}: {error.strerror or 'reading failed'}"
        )
    except _DAMAGES:
        problem = BadInput(f"{path} is damaged: it is not {what}")
    else:
        return
    # The original error may quote the content.
    raise problem from None
