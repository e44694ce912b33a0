"""Where a run begins or goes on: the leader opens its ledger, and tells the others.

Guarantee
    All processes begin with the same step, the same weights and the same order of batches, those of
    the ledger and the checkpoint that the leader has read; no other process reads or writes a
    ledger or a checkpoint. So what was charged does not depend on how many processes there are, and
    a run may go on with another number of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sfumato.accounting.ledger import Ledger
from sfumato.core.randomness import Randomness
from sfumato.training.checkpoints import Checkpoint, last_checkpoint, ledger_of
from sfumato.training.folder import RunFolder
from sfumato.training.plan import TrainingPlan
from sfumato.training.processes.meetings import led
from sfumato.training.processes.team import Team


@dataclass(frozen=True)
class Beginning:
    """The first step to take, what the ledger has saved, and whether there is one (``kept``)."""

    first: int
    saved: Mapping[str, int]
    checkpoint: Checkpoint | None
    kept: bool


@contextmanager
def begun(
    team: Team, folder: RunFolder | None, plan: TrainingPlan, randomness: Randomness
) -> Iterator[tuple[Ledger | None, Beginning]]:
    """The ledger, for the leader only, and where to begin; ``randomness`` is that of the order."""
    with ExitStack() as held:
        opened: list[Ledger | None] = [None]

        def open_ledger() -> Beginning:
            ledger = opened[0] = held.enter_context(ledger_of(folder, plan, randomness))
            if ledger is None:
                return Beginning(0, dict(plan.start(randomness)), None, kept=False)
            kept = last_checkpoint(folder, ledger)
            return Beginning(ledger.charged, dict(ledger.saved), kept, kept=True)

        told = led(team, open_ledger)
        yield opened[0], told
