"""Private training, step by step.

Guarantee
    That of the plan: all weights that leave this process, in checkpoints and in the model, are
    computed in steps recorded in the run's ledger, and the plan states the cost of those steps.

Why it holds
    Each step draws its batch by the plan's sampling, clips every record, adds the plan's noise to
    the sum and divides by the planned batch size. Steps are charged before a checkpoint or the
    model is written. A killed run loses what was not saved: steps that were not charged have left
    no trace and are taken again; charged steps are not repeated, even if their results are lost.
    The noise of a step is determined by its number, so no two steps share it.
    In a team of processes each clips its own records, and the sum over all gets the noise once
    (``processes.sums``); the first of them has the ledger and the checkpoints.

Care
    The loss that is shown during training is that of private records. It is meant for their owner,
    and it is written nowhere. Stopping a run because of its loss, and resuming it in the hope of a
    better one, looks at more steps than were charged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import InvalidArgument, UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models import devices
from sfumato.models.load import LoadedModel, draw_weights_from
from sfumato.models.recomputing import ALL
from sfumato.training.batches import PhysicalBatch as Rows
from sfumato.training.batches import physical_batches
from sfumato.training.checkpoints import (
    Checkpoint,
    Saving,
    paid_if_undefined,
    saving,
)
from sfumato.training.clipping.release import GradientRelease
from sfumato.training.features import HeadFeatures
from sfumato.training.folder import RunFolder
from sfumato.training.optimizers import (
    make_optimizer,
    optimizer_of,
    rate_factor,
    set_rate,
    tell_noise,
)
from sfumato.training.plan import LogicalBatch, Plan
from sfumato.training.processes.beginning import Beginning, begun
from sfumato.training.processes.likeness import refuse_other_weights, share_weights
from sfumato.training.processes.meetings import (
    agree_to_pause,
    agree_to_save,
    failing_together,
    led,
)
from sfumato.training.processes.shards import own_batches
from sfumato.training.processes.team import ALONE, Team, current_team, own_stream
from sfumato.training.records import TokenRecords
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import Course
from sfumato.training.steps import PlainStep, PrivateStep, hide_members, refuse_diverged

# Independent streams of one source.
SAMPLING, NOISE, DROPOUT, ORDER, EXAMPLES = range(5)


@dataclass(frozen=True)
class Progress:
    """The state after a step; the loss is private."""

    step: int
    loss: float
    tokens: int
    seconds: float


WatchSteps = Callable[[Progress], None]
_END = object()


class Between(Protocol):
    """Training on public text alone, between private steps."""

    def reach(self, step: int, of: int) -> Iterable[None]:
        """Do everything that comes before private step ``step`` (from 0) of ``of``.

        After each item the run may be saved or stopped.
        """
        ...

    def state(self) -> dict[str, Any]:
        """For a checkpoint."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        ...


class Instead(Protocol):
    """Weights of which a step sees only others that stand for them, such as carriers."""

    def weights(self) -> Iterable[torch.nn.Parameter]:
        """What the optimizer updates."""
        ...

    def through(self, optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
        """What a step calls: it turns released gradients into those of the weights."""
        ...


def fit(  # noqa: PLR0913  # three are needed, the others have defaults
    model: LoadedModel,
    records: TokenRecords,
    plan: Plan,
    course: Course | None = None,
    *,
    randomness: Randomness | None = None,
    folder: RunFolder | None = None,
    watch: WatchSteps | None = None,
    between: Between | None = None,
    instead: Instead | None = None,
    release: GradientRelease | None = None,
) -> Guarantee:
    """Train a model on records according to the plan; the guarantee of the trained model.

    With a ``folder`` the run is saved there and can be resumed if it was killed. ``watch`` is
    called after every step. ``between`` may train on public text before each step. ``instead`` has
    the weights to update, if others stand for them in a step, and ``release`` is what a step
    releases, if that is not the plan's own but costs the same.
    """
    course = course or Course()
    randomness = randomness or Randomness.secure()
    team = current_team()
    with failing_together(team):
        _check_fit(model, records, plan)
        with begun(team, folder, plan, randomness.stream(ORDER)) as (ledger, start):
            if start.checkpoint is not None:
                # First of all: features are those of the frozen weights with which the run began,
                # and weights that were drawn cannot be drawn again.
                start.checkpoint.restore_weights(model.network)
            devices.move(model.network, course.device)
            share_weights(team, model.network)
            apart = between or instead or not course.is_usual
            features = None if apart else HeadFeatures.of(model, records)
            run = _Run.begun(model, plan, course, randomness, features, instead, release)
            run.between = between
            try:
                _resume(run, start.checkpoint)
                _train(run, records, start, ledger, folder, watch)
            finally:
                run.step.close()
                devices.move(model.network, devices.CPU)
    guarantee = plan.guarantee()
    return guarantee if randomness.for_release else guarantee.reproducible()


@dataclass
class _Run:
    """A run in progress."""

    model: LoadedModel
    plan: Plan
    course: Course
    randomness: Randomness
    optimizer: torch.optim.Optimizer
    step: PrivateStep | PlainStep
    features: HeadFeatures | None = None
    between: Between | None = None
    team: Team = ALONE

    @classmethod
    def begun(  # noqa: PLR0913  # as in ``fit``
        cls,
        model: LoadedModel,
        plan: Plan,
        course: Course,
        randomness: Randomness,
        features: HeadFeatures | None = None,
        instead: Instead | None = None,
        release: GradientRelease | None = None,
    ) -> _Run:
        network, team = model.begin_training(), current_team()
        if instead is None:
            optimizer = make_optimizer(course.optimizer, network.parameters(), course.learning_rate)
            called = optimizer
        else:
            optimizer = optimizer_of(course.optimizer, instead.weights(), course.learning_rate)
            called = instead.through(optimizer)
        if not plan.private:
            plain = PlainStep(called, team)
            return cls(model, plan, course, randomness, optimizer, plain, features, team=team)
        step = PrivateStep(
            network if features is None else features.head,
            called,
            release=release or plan.release(),
            noise_multiplier=plan.noise_multiplier,
            expected_batch_size=plan.stages[0].batch_size,
            randomness=randomness.stream(NOISE),
            team=team,
            two_passes=course.recompute == ALL,
        )
        return cls(model, plan, course, randomness, optimizer, step, features, team=team)

    def losses(self, rows: Rows, some: torch.Tensor) -> torch.Tensor:
        """The losses of some rows of a batch."""
        network: Any = self.model.network
        rows = rows.on(self.course.device)
        inputs = rows.inputs(some)
        if self.features is not None:
            network, inputs = self.features.head, self.features.inputs(rows, some)
        # A row's weight depends on its own record alone, not on the batch it is in.
        return row_losses(network, inputs, rows.labels[some], rows.weights[some], rows.levels)

    @property
    def clip_norm(self) -> float:
        return self.step.release.sensitivity if isinstance(self.step, PrivateStep) else 0.0


def _train(  # a run, where it begins, and who keeps and sees it
    run: _Run,
    records: TokenRecords,
    start: Beginning,
    ledger: Ledger | None,
    folder: RunFolder | None,
    watch: WatchSteps | None,
) -> None:
    team = run.team
    batches = run.plan.batches(run.randomness.stream(SAMPLING), start.saved, first=start.first)
    held = team.size > 1
    with saving(run.course.checkpoint_every, run.plan.steps, kept=start.kept, team=held) as now:

        def save() -> None:
            if start.kept:
                _save(run, ledger, folder, now.unsaved)
            now.saved()

        def pause() -> None:
            with paid_if_undefined(ledger, now.unsaved):
                refuse_diverged(run.model.network)
            save()

        for batch in own_batches(team, batches):
            began = time.perf_counter()
            for _ in _public_steps(run, now, batch.step, ledger):
                pause()
                # Only here: public steps that were not saved are not counted as such.
                now.stop_if_asked()
            now.unsaved += 1
            with paid_if_undefined(ledger, now.unsaved):
                seen = _one_step(run, records, batch)
                due, (loss, tokens, members) = agree_to_save(team, now, batch.step, seen)
                if due:
                    refuse_diverged(run.model.network)
            if due:
                save()
            if watch:
                spent = time.perf_counter() - began
                watch(Progress(batch.step + 1, loss / max(1, members), int(tokens), spent))
            now.stop_if_asked()


def _public_steps(run: _Run, now: Saving, step: int, ledger: Ledger | None) -> Iterator[None]:
    """Train on public text before a private step; each item is a moment to save the run.

    Private steps that are not saved yet are paid if this ends in an error that depends on them.
    """
    if not run.between:
        return
    # A function of released weights and public text: it costs no privacy.
    with run.step.pause():
        with paid_if_undefined(ledger, now.unsaved):
            steps = iter(run.between.reach(step, run.plan.steps) or ())
        while True:
            with paid_if_undefined(ledger, now.unsaved):
                if next(steps, _END) is _END:
                    return
            if agree_to_pause(run.team, now, step):
                yield


def _one_step(run: _Run, records: TokenRecords, batch: LogicalBatch) -> tuple[float, float, float]:
    """The sum of the losses, the number of tokens and that of members; private, all of them."""
    loss, tokens = 0.0, 0
    _prepare(run, batch)
    # What is hidden in a record is drawn anew in every step, from a stream of the record's own.
    records, members = records.drawn(
        batch.members, run.randomness.stream(EXAMPLES).stream(batch.step)
    )
    groups = physical_batches(
        records,
        members,
        most_tokens=max(run.course.tokens_at_once, records.context),
        divisor=run.course.divisor,
    )
    dropped = own_stream(run.team, run.randomness.stream(DROPOUT).stream(batch.step))
    with hide_members(), draw_weights_from(dropped):
        for group in groups:
            if len(group) > 1:
                with run.step.one_record(share=group[0].share):
                    losses = [_backward(run, rows, None) for rows in group]
            else:
                losses = [_backward(run, rows, rows.owner, rows.share) for rows in group]
            loss += sum(losses)
            tokens += sum(int(rows.attention_mask.sum()) for rows in group)
    run.step.step(noise_multiplier=batch.noise_multiplier, expected_batch_size=batch.size)
    return loss, tokens, len(batch.members)


def _backward(run: _Run, rows: Rows, owner: torch.Tensor | None, share: float = 1.0) -> float:
    everything = torch.arange(len(rows.owner))
    run.step.check_rows(lambda some: run.losses(rows, some), len(everything))
    losses = run.losses(rows, everything)
    total = float(losses.detach().sum())
    if not math.isfinite(total):
        raise UndefinedGradient("the loss of a batch is not a finite number")
    run.step.backward(losses, None if owner is None else owner.to(losses.device), share=share)
    return total


def _prepare(run: _Run, batch: LogicalBatch) -> None:
    course = run.course
    if isinstance(run.step, PrivateStep):
        # The noise of a step depends on its number in the plan, not on when this process began: two
        # steps with the same noise would reveal the difference of their gradients.
        run.step.steps, run.step.noise_multiplier = batch.step, batch.noise_multiplier
        noise = run.step.release.deviation(batch.noise_multiplier)
        tell_noise(run.optimizer, (noise / batch.size) ** 2)
    factor = rate_factor(course.schedule, batch.step, run.plan.steps, course.warm_up)
    set_rate(run.optimizer, course.learning_rate * factor)


def _save(run: _Run, ledger: Ledger | None, folder: RunFolder | None, steps: int) -> None:
    # First charge, then save: steps that a kill between the two loses are charged and not used.
    charged = led(run.team, lambda: _charge(ledger, steps))
    refuse_other_weights(run.team, run.model.network, run.clip_norm, charged)

    def keep() -> None:
        if folder is not None:
            kept = Checkpoint.of(charged, run.model.network, run.optimizer, run.clip_norm)
            state = run.between.state() if run.between else {}
            replace(kept, between=state).save(folder.checkpoint)

    led(run.team, keep)


def _charge(ledger: Ledger | None, steps: int) -> int:
    """Charge steps, if there are any; how many are charged then."""
    if ledger is None:
        return 0
    return ledger.charge(steps) if steps else ledger.charged


def _resume(run: _Run, checkpoint: Checkpoint | None) -> None:
    if checkpoint is None:
        return
    checkpoint.restore(run.model.network, run.optimizer)
    if run.between:
        run.between.restore(checkpoint.between)
    if isinstance(run.step, PrivateStep):
        run.step.release.restore(checkpoint.clip_norm)


def _check_fit(model: LoadedModel, records: TokenRecords, plan: Plan) -> None:
    if len(records) != plan.units:
        raise InvalidArgument(
            f"the plan protects {plan.units:,} units but there are {len(records):,} records; "
            "plan for the records that are trained on"
        )
    if records.unit != plan.unit:
        raise InvalidArgument(
            f"the plan protects every {plan.unit}, but a record holds what belongs to one "
            f"{records.unit}; cut the records with unit={plan.unit!r}"
        )
    if records.context > model.context:
        raise InvalidArgument(
            f"rows of up to {records.context} tokens do not fit into the model's context of "
            f"{model.context}; cut the records with context={model.context}"
        )
