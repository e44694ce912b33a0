"""What is slow on purpose is made quick: what makes it slow is shown once, with its real cost."""

from __future__ import annotations

import os
import sys

from sfumato.core import keys, sealing

# As the package has them.
DIGEST, VAULT = keys.COST, sealing.COST
FIRST_BATCHES = 2


def lower_costs() -> None:
    """Guesses at digests and keys of vaults cost nothing in this process from now on, nor do disks.

    Every private setting of every run is digested, and every vault opened, hundreds of times in
    all. ``test_keys.py`` and ``test_sealing.py`` hold the costs that the package has.

    Thousands of times the package waits until a file is on the disk. That helps only where the
    power fails, which no test can show. That it is asked for in time is shown by those who replace
    this function once more (``test_ledger.py``, ``test_vault.py``).
    """
    keys.COST = sealing.COST = 2
    os.fsync = _be_sure  # type: ignore[assignment]


def leave_rows_uncompared() -> None:
    """Rows are not compared when a training begins.

    Comparisons take half of the time of a short training and change nothing, as
    ``test_row_checks.py``, ``test_loop.py`` and ``test_interleaved.py`` show. What is about them
    asks for ``compared_rows``, and every process of its own compares.
    """
    row_checks = sys.modules.get("sfumato.training.clipping.row_checks")
    if row_checks is not None:
        row_checks.FIRST = 0  # type: ignore[attr-defined]


def _be_sure(number: int) -> None:
    """Only that the file is open."""
    os.fstat(number)
