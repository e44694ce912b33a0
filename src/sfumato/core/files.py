"""Writing files whole, beside first and then renamed, so nobody ever sees half; reading JSON."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.core.errors import BadInput, OutputExists, StorageFailed


def from_home(written: str) -> Path:
    """A path in which ``~`` stands for a home.

    >>> from_home("~nobody-of-that-name/model").as_posix()  # not anybody's home: a plain name
    '~nobody-of-that-name/model'
    """
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


def write_whole(path: Path, content: bytes) -> None:
    """Whoever looks sees the old file or the new one."""
    with replacing(path) as stream:
        stream.write(content)


def write_first(path: Path, content: bytes) -> None:
    """Write a file unless there is one: of several processes at once the first wins, for all."""
    beside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.unfinished")
    try:
        with beside.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(beside, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of ``path`` when all went well."""
    beside = path.with_name(path.name + ".unfinished")
    try:
        beside.unlink(missing_ok=True)  # a left-over, or a link that must not be followed
        with beside.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Say no to writing over somebody's file."""
    if path.is_dir():
        raise OutputExists(f"{path} is a folder, not a file")
    if path.exists() and not overwrite:
        raise OutputExists(f"{path} exists already; --overwrite replaces it")
    if not path.parent.is_dir():
        raise StorageFailed(f"cannot write {path}: there is no folder {path.parent}")


def read_json(path: Path) -> Any:
    """What a file of ours holds; a damaged one is named, and not quoted."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror or 'reading failed'}") from None
    except (ValueError, RecursionError):
        raise BadInput(f"{path} is damaged: it is not JSON") from None
