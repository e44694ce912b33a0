"""How far a command is, on standard error: a bar on a terminal, else a line every so often.

Lines are for what is written to a file or read by a program. After a few seconds the first one
says how long all of it will take, if that is worth a line; short work stays silent. The others come
after ``PATIENCE`` seconds, and each waits longer than the one before. They say how much is done and
how much time is left. Neither a label nor a line contains data: counts of steps, bytes and
documents are what whoever starts a command sees anyway.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

Advance = Callable[[int], None]
# Whether somebody asked for silence.
QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)

# Seconds until the first line; until the next it is longer by this factor, up to a limit.
PATIENCE = 20.0
# Seconds of work from which all of it is estimated.
SOON = 2.0
LONGER = 1.5
LONGEST = 300.0


def announce(line: str) -> None:
    """Say a line before long work begins, unless silence was asked for; it must hold no data."""
    if not QUIET.get():
        _to_stderr(line)


@contextmanager
def progress(label: str, total: int | None, *, unit_is_bytes: bool = True) -> Iterator[Advance]:
    """Yield a function that is told the progress so far; labels must not contain data."""
    if QUIET.get():
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        yield Lines(label, total, "bytes" if unit_is_bytes else "").reach
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


class Lines:
    """Progress as lines: what is done of what, and about how much time is left.

    ``clock`` and ``say`` are for tests.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        unit: str = "",
        *,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.label, self.total, self.unit = label, total, unit
        self._clock, self._say = clock, say or _to_stderr
        self._began = clock()
        self._first: tuple[int, float] | None = None
        self._wait = PATIENCE
        self._due = self._began + self._wait
        self._estimated = False

    def reach(self, reached: int) -> None:
        """So much is done."""
        now = self._clock()
        if self._first is None:
            # Time is counted from the first report: what a resumed run finds done took none now.
            self._first = reached, now
        self._estimate(reached, now)
        if now < self._due or (self.total is not None and reached >= self.total):
            return
        self._wait = min(LONGEST, self._wait * LONGER)
        self._due = now + self._wait
        self._say(f"{self.label}: {self._amount(reached)}{self._left(reached, now)}")

    def _estimate(self, reached: int, now: float) -> None:
        """Once, as soon as it can be known: how long it takes, if that is long."""
        # What came before the first report, such as loading a model, is no measure of the work.
        begun = self._began if self._first is None else self._first[1]
        seconds = None if now < begun + SOON else self._seconds_left(reached, now)
        if self._estimated or seconds is None:
            return
        self._estimated = True
        if seconds >= PATIENCE > 0:
            self._say(f"{self.label}: this takes about {duration(seconds)}")

    def _amount(self, reached: int) -> str:
        unit = f" {self.unit}" if self.unit else ""
        if not self.total:
            return f"{reached:,}{unit}"
        return f"{reached:,} of {self.total:,}{unit} ({100 * reached // self.total} %)"

    def _left(self, reached: int, now: float) -> str:
        seconds = self._seconds_left(reached, now)
        if seconds is None:
            return f", {duration(now - self._began)} so far"
        return f", about {duration(seconds)} left"

    def _seconds_left(self, reached: int, now: float) -> float | None:
        if not self.total or self._first is None or reached <= self._first[0]:
            return None
        begun, since = self._first
        return (self.total - reached) * (now - since) / (reached - begun)


def duration(seconds: float) -> str:
    """A time for people, rounded up.

    >>> duration(8.2), duration(95), duration(4000), duration(100_000)
    ('10 seconds', '2 minutes', '1.2 hours', '28 hours')
    """
    if seconds <= 60:
        return f"{max(10, -int(-seconds // 10) * 10)} seconds" if seconds < 55 else "1 minute"
    if seconds < 3600:
        minutes = -int(-seconds // 60)
        return f"{minutes} minutes"
    hours = -int(-seconds // 360) / 10
    return f"{hours:.0f} hours" if hours >= 10 else f"{hours:g} hours"


def _to_stderr(line: str) -> None:
    with suppress(OSError):
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
