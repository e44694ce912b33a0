"""When a run is saved: after so many steps, after some minutes, and before it is stopped.

Guarantee
    None of its own, and none is needed. Whatever is saved was charged just before (``loop``), and
    the plan covers the state after every step; so it does not matter after which step one is kept,
    nor why then. The interval is a public constant.

Care
    How long a step takes follows from the lengths of private documents, so a moment chosen by the
    clock tells something about them. It is written nowhere: a ledger has a line for every single
    step, whichever were saved together, and the next checkpoint takes the place of this one.
    A signal that would end the process waits for the step under way, which is then saved. A second
    one does not wait.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

# What is lost with a process that is killed took no longer than that.
MINUTES = 5.0

# What ends a process on request: Ctrl-C, and what kill, a shutdown or a queue of jobs sends.
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Saving:
    """Counts the steps that are not saved, and says when they must be; made by ``saving``."""

    every: int
    steps: int
    unsaved: int = 0
    asked: int | None = None
    _last: float = 0.0
    _handlers: dict[int, Any] = field(default_factory=dict)

    def due(self, step: int) -> bool:
        """Whether the results of step ``step`` (from 0) and those before it are saved now."""
        if self.asked is not None or step + 1 == self.steps or self.unsaved >= self.every:
            return True
        return monotonic() - self._last >= 60 * MINUTES

    def saved(self) -> None:
        """Everything so far is safe."""
        self.unsaved, self._last = 0, monotonic()

    def stop_if_asked(self) -> None:
        """Let a signal that was held back do what it does, unless there is something to save."""
        if self.asked is not None and not self.unsaved:
            number, self.asked = self.asked, None
            signal.raise_signal(number)

    def hold(self) -> None:
        """From now on the first signal waits; none does that is ignored, or another thread's."""
        if current_thread() is not main_thread():
            return
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before is not None and before != signal.SIG_IGN:
                self._handlers[number] = before
                signal.signal(number, self._wait)

    def release(self) -> None:
        """Signals do again what they did before."""
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def _wait(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.release()  # a second one does not wait
        self.asked = number


@contextmanager
def saving(every: int, steps: int, *, kept: bool) -> Iterator[Saving]:
    """For a run of so many steps; signals are held back if anything is ``kept`` of it."""
    course = Saving(every, steps)
    course.saved()  # nothing is unsaved yet, and the clock begins
    if kept:
        course.hold()
    try:
        yield course
    finally:
        course.release()
    course.stop_if_asked()
