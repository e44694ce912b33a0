"""A worker as a process: ``python -m sfumato.studies.worker``, told what to do by a pipe.

Started by the command that runs a study; it ends with it.
"""

from __future__ import annotations

import os
import pickle
import sys
from threading import Thread

from sfumato.studies.working import work_on


def main() -> None:
    """Work on what comes through standard input."""
    work, parent = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the process that started this
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        work_on(work, parent=parent)
    except KeyboardInterrupt:
        sys.exit(130)


def _end_with_parent() -> None:
    """A cell may take hours, and nobody waits for it when the command was killed."""
    # There is nothing more to read until the other end is closed. (Past the buffer, whose lock the
    # interpreter wants when it ends.)
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
