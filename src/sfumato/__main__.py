"""``python -m sfumato`` is ``sfumato``."""

from __future__ import annotations

from typing import NoReturn

from sfumato.cli.interrupts import end_at_once


def run() -> NoReturn:
    """The console script; interrupting it while it is being loaded shows no traceback."""
    end_at_once()
    from sfumato.cli.main import run as run_command

    run_command()


if __name__ == "__main__":
    run()
