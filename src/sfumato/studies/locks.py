"""Locks that the operating system frees when their holder dies, however it dies.

A lock file says who holds it, for people who look; whether it is held is known to the system alone.
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
    """Whether the lock could be had; it is freed at the end of the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Never through a link: a lock file is emptied.
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
    """Since when somebody holds the lock; None if nobody does, or it is not known yet."""
    try:
        with path.open("rb") as stream:
            if _is_free(stream.fileno()):
                return None  # its note was left by a process that died
            return float(json.loads(stream.read())["since"])
    except (OSError, ArithmeticError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_free(descriptor: int) -> bool:
    """Ask for a share of the lock, which nobody has while one holds it, and give it back."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True
