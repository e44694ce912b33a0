"""What is slow on purpose is made quick: what makes it slow is shown once, with its real cost."""

from __future__ import annotations

import os

from sfumato.core import keys, sealing

# As the package has them.
DIGEST, VAULT = keys.COST, sealing.COST


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


def _be_sure(number: int) -> None:
    """Only that the file is open."""
    os.fstat(number)
