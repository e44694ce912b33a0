"""Interleaved Selective-DPSGD: plain steps on public stretches, private ones on private stretches.

Guarantee
    That of the plan, for all weights and all states that ever leave a private stretch.

Why it holds
    A step takes one turn of several documents. *Public stretches*: an ordinary update, computed
    from public tokens, the weights so far and states that were released; so it is post-processing.
    *Private stretches*: each document's gradient over its own stretch, clipped, summed, noised. The
    state that goes on from a private stretch is clipped and noised, or reset. Everything else that
    is computed in a private stretch ends with it. Steps are charged before their results are saved,
    and one that was charged is never taken again.

Care
    A private stretch begins from the state that the public one before it leaves, under the weights
    before that one's update: what is read is read once. Stretches longer than the context are read
    in pieces, the state going from one to the next and gradients not; the pieces of a private
    stretch are clipped as one, and no state between them is released.
    Losses of private stretches are for the eyes of whoever owns them; they are written nowhere.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (algorithm 1). There a
    batch is sampled and worked through to its end; here documents take turns (``turn_order``).
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import CannotResume
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import LoadedModel
from sfumato.training.checkpoints import Checkpoint, last_checkpoint, ledger_of, paid_if_undefined
from sfumato.training.course import Course
from sfumato.training.failures import refuse_diverged
from sfumato.training.folder import RunFolder
from sfumato.training.loop import ORDER, WatchSteps
from sfumato.training.optimizers import put_back
from sfumato.training.saving import saving
from sfumato.training.selective.interleaved_plan import InterleavedPlan, all_steps
from sfumato.training.selective.interleaved_steps import InterleavedRun
from sfumato.training.selective.stretch_records import StretchRecords


def fit_interleaved(  # noqa: PLR0913  # three are needed, the others have defaults
    model: LoadedModel,
    records: StretchRecords,
    plan: InterleavedPlan,
    course: Course | None = None,
    *,
    randomness: Randomness | None = None,
    folder: RunFolder | None = None,
    watch: WatchSteps | None = None,
) -> Guarantee:
    """Train a recurrent model on documents in turns; the promise about the trained model."""
    plan.require(records)
    course, randomness = course or Course(), randomness or Randomness.secure()
    run = InterleavedRun.begun(model, records, plan, course, randomness)
    try:
        with ledger_of(folder, plan, randomness.stream(ORDER)) as ledger:
            _resume(run, ledger, folder)
            _train(run, ledger, folder, watch)
    finally:
        run.step.close()
    guarantee = plan.guarantee()
    return guarantee if randomness.for_release else guarantee.reproducible()


def _train(
    run: InterleavedRun, ledger: Ledger | None, folder: RunFolder | None, watch: WatchSteps | None
) -> None:
    plan = run.plan
    first = ledger.charged if ledger else 0
    saved = ledger.saved if ledger else plan.sampling.start(run.randomness.stream(ORDER))
    if "order" not in saved:
        raise CannotResume("the order of the documents was not saved; start a new run")
    turns = run.records.turns
    steps = all_steps(turns, plan.batch_size, plan.epochs, saved["order"], first=first)
    with saving(run.course.checkpoint_every, plan.steps, kept=ledger is not None) as now:
        for step in steps:
            now.unsaved += 1
            with paid_if_undefined(ledger, now.unsaved):
                done = run.take(step)
                due = now.due(step.step)
                if due:
                    refuse_diverged(run.network)
            if due:
                if ledger:
                    _save(run, ledger, folder, now.unsaved)
                now.saved()
            if watch:
                watch(done)
            now.stop_if_asked()


def _save(run: InterleavedRun, ledger: Ledger, folder: RunFolder | None, steps: int) -> None:
    # First paid, then saved: what a kill between the two loses is paid for and not used.
    charged = ledger.charge(steps)
    if folder is not None:
        kept = Checkpoint.of(charged, run.network, run.step.optimizer, run.plan.clipping.norm)
        # Waiting states have their noise already.
        more = {"public": run.public.state_dict(), "waiting": run.waiting}
        replace(kept, between=more).save(folder.checkpoint)


def _resume(run: InterleavedRun, ledger: Ledger | None, folder: RunFolder | None) -> None:
    checkpoint = last_checkpoint(folder, ledger)
    if checkpoint is None or ledger is None:
        return
    checkpoint.restore(run.network, run.step.optimizer)
    public, waiting = (checkpoint.between.get(name) for name in ("public", "waiting"))
    if (
        not isinstance(public, dict)
        or not run.may_wait(waiting)
        or not put_back(run.public, public)
    ):
        raise CannotResume("the checkpoint belongs to another method; start a new run")
    # Where steps were lost, their states are: documents in the middle go on from zero.
    if checkpoint.steps == ledger.charged:
        run.waiting = dict(waiting)
