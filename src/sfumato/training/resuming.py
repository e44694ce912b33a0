"""A run and its ledger: what was paid for, what is left of it, what must be paid for.

Guarantee
    A run goes on with the step after the last one charged, from weights that are not newer than
    that. What is not known to be paid for is not used.

Why it holds
    Steps are charged before their results are saved, so a checkpoint is never ahead of its ledger
    unless somebody put it there; then it is refused, as is a run whose ledger is gone. Steps that
    were charged and lost stay charged: whether their results were seen cannot be known.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import CannotResume, CoupledRows, UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.training.checkpoints import Checkpoint
from sfumato.training.plan import Plan
from sfumato.training.run_folder import RunFolder
from sfumato.training.selective.interleaved_plan import InterleavedPlan


class StepsLost(UserWarning):
    """Steps that were paid for and whose results were never saved."""


@contextmanager
def ledger_of(
    folder: RunFolder | None, plan: Plan | InterleavedPlan, randomness: Randomness
) -> Iterator[Ledger | None]:
    """The ledger of a run, begun or gone on with; without a folder there is none."""
    if folder is None:
        yield None
        return
    begun = folder.ledger.exists()
    if not begun and (folder.checkpoint.exists() or folder.model.exists()):
        raise CannotResume(
            f"there is no {folder.ledger}, so what was spent is unknown; start a new run"
        )
    with Ledger.opened(
        folder.ledger,
        allowed=plan.steps,
        # A run that was begun with a seed and finished without one would be taken for private.
        record=plan.as_dict() | {"seed": randomness.seed},
        saved=plan.sampling.start(randomness),
        resume=begun,
    ) as ledger:
        if folder.model.exists() and ledger.left:
            raise CannotResume(
                f"{folder.model} is there, but {folder.ledger} has lost steps; start a new run"
            )
        yield ledger


def last_checkpoint(folder: RunFolder | None, ledger: Ledger | None) -> Checkpoint | None:
    """Where a stopped run stands; steps that are paid for and lost are reported by a warning."""
    if folder is None or ledger is None:
        return None
    found = Checkpoint.load(folder.checkpoint) if folder.checkpoint.exists() else None
    kept = found.steps if found else 0
    if kept > ledger.charged:
        raise CannotResume(
            f"{folder.checkpoint} is ahead of the ledger, which has lost steps; start a new run"
        )
    if kept == 0 and ledger.left == 0:
        raise CannotResume(
            f"all {ledger.allowed:,} steps are charged, and none of their results was saved; "
            "start a new run"
        )
    if kept < ledger.charged:
        warnings.warn(
            f"{ledger.charged - kept:,} of {ledger.allowed:,} steps are charged, but the run was "
            "stopped before their results were saved; it goes on without them",
            StepsLost,
            stacklevel=3,
        )
    return found


@contextmanager
def paid_if_undefined(ledger: Ledger | None, steps: int) -> Iterator[None]:
    """Charge steps that end in ``UndefinedGradient`` or ``CoupledRows``.

    To stop was decided by looking at them. Were they free, a run could be resumed until they come
    out differently, and what comes out in the end would hang on what was seen.
    """
    try:
        yield
    except (CoupledRows, UndefinedGradient):
        if ledger:
            ledger.charge(steps)
        raise
