"""A worker as a process: ``python -m sfumato.studies.worker``, told what to do by a pipe.

Started by the command that runs a study; it ends with it.
"""

from __future__ import annotations

import pickle
import sys

from sfumato.studies.working import work_on


def main() -> None:
    """Work on what comes through standard input."""
    work, parent = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the process that started this
    try:
        work_on(work, parent=parent)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
