"""Locks that the operating system frees when their holder ends, for whatever reason.

A lock file names its holder, for people who look. Only the operating system knows whether the lock
is held.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def hold_lock(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Try to take a lock and yield whether it was taken; the end of the block frees it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Never follow a link: a lock file is emptied.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        os.ftruncate(descriptor, 0)
        note = {"process": os.getpid(), "since": time.time()}
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        try:
            yield True
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def holder_since(path: Path) -> float | None:
    """When the lock was taken; None if it is free, or if its holder has not noted the time yet."""
    try:
        with path.open("rb") as stream:
            if _is_free(stream.fileno()):
                return None  # the note was left by a process that ended
            return float(json.loads(stream.read())["since"])
    except (OSError, ArithmeticError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_free(descriptor: int) -> bool:
    """Try to take a shared lock, which fails while another process holds the lock; free it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
