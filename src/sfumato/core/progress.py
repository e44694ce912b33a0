"""A progress bar on standard error if that is a terminal, and nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Advance = Callable[[int], None]
# Whether somebody asked for silence.
QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)


@contextmanager
def progress(label: str, total: int | None, *, unit_is_bytes: bool = True) -> Iterator[Advance]:
    """Yield a function that is told the progress so far; labels must not contain data."""
    if QUIET.get() or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if unit_is_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda reached: bar.update(task, completed=reached)
