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
def held(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether the lock could be had; it is freed at the end of the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
    """Since when somebody who is still alive holds the lock, as far as its note tells."""
    try:
        note = json.loads(path.read_bytes())
        os.kill(int(note["process"]), 0)
        return float(note["since"])
    except PermissionError:
        return float(note["since"])  # alive, and somebody else's
    except (OSError, ValueError, KeyError, TypeError):
        return None
