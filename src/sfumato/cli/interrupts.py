"""What an interrupt (Ctrl-C) or a request to end does to a command.

The first one raises ``KeyboardInterrupt``, so that the code at work asks its processes to stop
and tidies up. The second one ends the processes and this one at once, wherever it is: tidying up
must never be something that cannot be interrupted. That is safe because it is what a kill does, and
a killed run can be resumed.

In the middle of an import the first interrupt ends at once, too: libraries in C would turn the
exception into an error of their own. Before our first line runs, an interrupt is Python's.
"""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import active_children
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it

Handler = Callable[[int, FrameType | None], object]


def end_at_once(code: int = INTERRUPTED) -> None:
    """From now on a signal ends the command with this code, for there is nothing to tidy up."""

    def end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        _end(code)

    _handle(end)


def raise_first() -> None:
    """From now on the first signal raises ``KeyboardInterrupt`` and the second one ends."""
    raised = False

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
        nonlocal raised
        if raised or _imports(frame):
            _end(INTERRUPTED)
        raised = True
        raise KeyboardInterrupt

    # Python gives the signals back to the system when it ends, which would change our exit code.
    # What is registered first is done last.
    atexit.register(_handle, signal.SIG_IGN)
    _handle(interrupt)


def _handle(handler: Handler | signal.Handlers) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        # Whoever started us may want us to go on (a job in the background does).
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _follows() -> bool:
    """As ``output.follows``, but without an import: a signal may come in the middle of one."""
    return os.environ.get("RANK", "0") not in ("", "0") and "WORLD_SIZE" in os.environ


def _end(code: int) -> NoReturn:
    for child in active_children():
        child.kill()
    with suppress(OSError):
        if os.isatty(2):
            os.write(2, SHOW_CURSOR)
        if code == INTERRUPTED and not _follows():
            os.write(2, b"sfumato: interrupted\n")
    os._exit(code)
