"""What is slow on purpose is made quick: what makes it slow is shown once, with its real cost."""

from __future__ import annotations

from sfumato.core import keys, sealing

# As the package has them.
DIGEST, VAULT = keys.COST, sealing.COST


def lower_costs() -> None:
    """Guesses at digests and keys of vaults cost nothing in this process from now on.

    Every private setting of every run is digested, and every vault opened, hundreds of times in
    all. ``test_keys.py`` and ``test_sealing.py`` hold the costs that the package has.
    """
    keys.COST = sealing.COST = 2
