"""Interleaved Selective-DPSGD: plain steps on public stretches, private steps on private ones.

Guarantee
    That of the plan, for all weights and all states that leave a private stretch. A step releases
    the noisy sum of clipped gradients of its private stretches, and the noisy clipped state of
    every document that continues: Gaussian releases with the plan's noise multiplier. A document
    contributes to the sum once and has one state released. Hidden and cell state, taken as one
    vector, have a norm of at most C and get noise of standard deviation z·C in every coordinate. A
    document whose private part is null has the state 0 before the noise, so its release moves by at
    most C. ``reset`` releases no state.

Why it holds
    A step takes one turn of several documents. *Public stretches*: an ordinary update, computed
    from public tokens, the weights so far and released states, so it is post-processing. *Private
    stretches*: each document's gradient over its own stretch is clipped; the gradients are summed,
    and noise is added. The state after a private stretch is clipped and gets noise, or it is reset.
    Everything else that is computed in a private stretch is discarded after it. Hidden and cell
    state are scaled together; clipped separately with the same C, they would be two releases.
    States are not summed: every document has independent noise, and later uses of a state are
    post-processing of its release. Steps are charged before their results are saved, and a charged
    step is never taken again.

Care
    A private stretch begins from the state after the public one before it, computed with the
    weights before the public update, so that every text is read once. Stretches longer than the
    context are read in pieces; the state passes from one piece to the next, gradients do not. The
    pieces of a private stretch are clipped together, and no state between them is released. The
    dimension d of a state does not matter for privacy, but for usefulness: the noise has a length
    of about z·C·√d, the state at most C. With a small C, the noise affects the network less. Losses
    of private stretches are shown to their owner only; they are written nowhere.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (algorithm 1). There a
    batch is sampled and worked through to its end; here documents take turns (``stretch_records``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import torch
from torch import Tensor

from sfumato.accounting.events import computable_noise
from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import CannotResume, InvalidArgument, UndefinedGradient
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import LoadedModel, draw_weights_from
from sfumato.models.lstm_layer import State
from sfumato.models.lstm_network import LstmForCausalLM
from sfumato.training.checkpoints import (
    Checkpoint,
    paid_if_undefined,
    saving,
)
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.release import GaussianRelease, add_noise
from sfumato.training.folder import RunFolder
from sfumato.training.loop import DROPOUT, NOISE, ORDER, Progress, WatchSteps
from sfumato.training.methods.interleaved import InterleavedPlan
from sfumato.training.methods.stretch_records import (
    Rows,
    Step,
    StretchRecords,
    TokenRange,
    all_steps,
    chunks,
    row_batches,
    states_behind,
)
from sfumato.training.optimizers import make_optimizer, put_back, rate_factor, set_rate, tell_noise
from sfumato.training.processes.beginning import Beginning, begun
from sfumato.training.processes.likeness import refuse_other_weights, share_weights
from sfumato.training.processes.meetings import agree_to_save, failing_together, led
from sfumato.training.processes.sums import add_gradients
from sfumato.training.processes.team import ALONE, Team, current_team, own_stream
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import Course
from sfumato.training.steps import PrivateStep, hide_members, refuse_diverged


@dataclass(frozen=True, kw_only=True)
class StateRelease:
    """Bound and noise of the states that leave private stretches."""

    clip_norm: float
    noise_multiplier: float

    def __post_init__(self) -> None:
        Flat(self.clip_norm)
        computable_noise("noise_multiplier", self.noise_multiplier)

    def release(self, states: State, randomness: Randomness) -> State:
        """Hidden and cell states (documents × size), clipped and with noise.

        ``randomness`` must be a stream that is used for nothing else.
        """
        joined = clip_state(torch.cat(states, dim=1), self.clip_norm)
        if self.noise_multiplier:
            add_noise([joined], self.noise_multiplier * self.clip_norm, randomness)
        hidden, cell = joined.chunk(2, dim=1)
        return hidden, cell


def clip_state(states: Tensor, clip_norm: float) -> Tensor:
    """Every row, scaled down to the bound if it is longer."""
    norms = torch.linalg.vector_norm(states.double(), dim=1)
    if not bool(norms.isfinite().all()):
        raise UndefinedGradient("a state of this batch is not finite; lower the learning rate")
    return (states * Flat(clip_norm).scales(norms)[:, None].to(states.dtype)).contiguous()


# An independent stream beside those of the loop.
STATES = 4


def require_recurrent(model: LoadedModel) -> LstmForCausalLM:
    """The network, if it is the recurrent one that interleaved training needs."""
    if not isinstance(model.network, LstmForCausalLM):
        raise InvalidArgument(
            "the method interleaved carries the state of a recurrent network from stretch to "
            "stretch, and is for the model lstm only; the method selective protects the same and "
            "trains any model"
        )
    return model.network


@dataclass
class InterleavedRun:
    """A run in progress. ``waiting`` holds the released states of documents with turns left."""

    network: LstmForCausalLM
    records: StretchRecords
    plan: InterleavedPlan
    course: Course
    randomness: Randomness
    context: int
    public: torch.optim.Optimizer
    step: PrivateStep
    waiting: dict[int, Tensor] = field(default_factory=dict)
    team: Team = ALONE

    @classmethod
    def begun(
        cls,
        model: LoadedModel,
        records: StretchRecords,
        plan: InterleavedPlan,
        course: Course,
        randomness: Randomness,
    ) -> InterleavedRun:
        """Before the first step."""
        network = require_recurrent(model)
        network.train()
        rate = plan.interleaving.public_learning_rate or course.learning_rate
        # Public gradients have no noise, so Adam needs no correction for it.
        kind = "sgd" if course.optimizer == "sgd" else "adam"
        team = current_team()
        step = PrivateStep(
            network,
            make_optimizer(course.optimizer, network.parameters(), course.learning_rate),
            release=GaussianRelease(plan.clipping.clipper()),
            noise_multiplier=plan.noise_multiplier,
            expected_batch_size=plan.batch_size,
            randomness=randomness.stream(NOISE),
            team=team,
        )
        public = make_optimizer(kind, network.parameters(), rate)
        return cls(
            network, records, plan, course, randomness, model.context, public, step, team=team
        )

    def may_wait(self, states: object) -> TypeGuard[dict[int, Tensor]]:
        """Whether these can be released states of documents, by document number."""
        shape = (2, self.network.config.hidden_size)
        return isinstance(states, dict) and all(
            isinstance(number, int) and isinstance(one, Tensor) and one.shape == shape
            for number, one in states.items()
        )

    def take(self, step: Step) -> tuple[float, float]:
        """One step: the public stretches of all members, then their private ones.

        Returns the sum of the losses and the number of tokens, of the members of this process.
        """
        self._set_rates(step.step)
        turns = [
            self.records.turn(*one)
            for one in zip(step.documents.tolist(), step.numbers.tolist(), strict=True)
        ]
        public = {place: one.public for place, one in enumerate(turns) if one.begin < one.middle}
        private = {place: one.private for place, one in enumerate(turns) if one.middle < one.end}
        states = self._entering(step)
        dropped = own_stream(self.team, self.randomness.stream(DROPOUT).stream(step.step))
        with hide_members(), draw_weights_from(dropped):
            loss = self.public_update(public, states, needed=private.keys(), of=step)
            loss += self.private_update(private, states, step.step, of=step)
            self._leave(step, states)
        tokens = sum(
            one.end - one.begin for place, one in enumerate(turns) if self._has(step, place)
        )
        return loss, tokens

    def _has(self, step: Step | None, place: int) -> bool:
        """Whether a member of a step belongs to this process, as its document does."""
        size = self.team.size
        return size == 1 or step is None or step.documents[place] % size == self.team.rank

    def _own(self, stretches: Mapping[int, TokenRange], step: Step | None) -> dict[int, TokenRange]:
        return {place: one for place, one in stretches.items() if self._has(step, place)}

    def public_update(
        self,
        stretches: Mapping[int, TokenRange],
        states: Tensor,
        *,
        needed: Collection[int] = (),
        of: Step | None = None,
    ) -> float:
        """The plain step on the mean loss of all public tokens; returns the sum of their losses.

        Only the states of members in ``needed`` are used afterwards. In a team each process takes
        those of step ``of`` that are its own.
        """
        if not stretches:
            return 0.0
        tokens, total = sum(end - begin for begin, end in stretches.values()), 0.0
        stretches = self._own(stretches, of)
        self.public.zero_grad(set_to_none=True)
        pieces = {place: list(chunks(one, self.context)) for place, one in stretches.items()}
        with self.step.pause():
            for turn in range(max(map(len, pieces.values()), default=0)):
                now = {place: some[turn] for place, some in pieces.items() if turn < len(some)}
                for rows in row_batches(self.records, now, self._most_places):
                    losses = self._losses(rows, states, torch.ones(len(rows.members)))
                    (losses.sum() / tokens).backward()  # type: ignore[no-untyped-call]
                    members = rows.members.tolist()
                    if any(turn + 1 < len(pieces[one]) or one in needed for one in members):
                        self._advance(rows, states)
                    total += float(losses.detach().sum())
            groups = self.public.param_groups
            add_gradients(self.team, [one for group in groups for one in group["params"]])
            self.public.step()
        self.public.zero_grad(set_to_none=True)
        return total

    def private_update(
        self,
        stretches: Mapping[int, TokenRange],
        states: Tensor,
        step: int,
        *,
        of: Step | None = None,
    ) -> float:
        """The private step on private stretches, clipped per document; returns the sum of losses.

        If no member has one, which is public, there is nothing to protect and no step. In a team a
        process that has none takes the step with the others.
        """
        if not stretches:
            return 0.0
        stretches = self._own(stretches, of)
        # The noise of a step is determined by its number: no two steps may share it.
        self.step.steps = step
        short = {one: it for one, it in stretches.items() if it[1] - it[0] <= self.context}
        total = 0.0
        for rows in row_batches(self.records, short, self._most_places):
            total += self._clip(rows, states, rows.lengths, rows.members)
            if self.plan.interleaving.state == "noise":
                self._advance(rows, states)
        for member in stretches.keys() - short.keys():
            begin, end = stretches[member]
            with self.step.one_record():
                for piece in chunks((begin, end), self.context):
                    (rows,) = row_batches(self.records, {member: piece}, self._most_places)
                    total += self._clip(rows, states, torch.tensor([end - begin]), None)
                    self._advance(rows, states)
        self.step.step()
        return total

    def _clip(self, rows: Rows, states: Tensor, lengths: Tensor, owner: Tensor | None) -> float:
        divisor = self.course.divisor
        # By its own length or by a constant, never by what other rows contain.
        weights = 1 / (lengths.float() if divisor is None else torch.full(lengths.shape, divisor))

        def losses_of(some: Tensor) -> Tensor:
            return self._losses(rows.of(some), states, weights[some])

        self.step.check_rows(losses_of, len(rows.members))
        losses = self._losses(rows, states, weights)
        self.step.backward(losses, owner)
        return float((losses.detach() / weights).sum())

    def _losses(self, rows: Rows, states: Tensor, weights: Tensor) -> Tensor:
        before = states[:, rows.members]
        inputs = {"input_ids": rows.input_ids, "state": (before[:1], before[1:])}
        losses = row_losses(self.network, inputs, rows.labels, weights)
        if not math.isfinite(float(losses.detach().sum())):
            raise UndefinedGradient("the loss of a batch is not a finite number")
        return losses

    def _advance(self, rows: Rows, states: Tensor) -> None:
        before = states[:, rows.members]
        after = states_behind(self.network, rows, (before[0], before[1]))
        states[:, rows.members] = torch.stack(after)

    def _entering(self, step: Step) -> Tensor:
        """Hidden and cell state of all members: zero, or their released state."""
        size = self.network.config.hidden_size
        states = torch.zeros(2, len(step.documents), size, dtype=self.network.dtype)
        for place, document in enumerate(step.documents.tolist()):
            if document in self.waiting:
                states[:, place] = self.waiting.pop(document)
        return states

    def _leave(self, step: Step, states: Tensor) -> None:
        """Release the states of documents with turns left; all of them leave a private stretch."""
        if self.plan.interleaving.state == "reset":
            return
        going = (step.numbers + 1 < self.records.turns[step.documents]).nonzero()[0]
        if not len(going):
            return
        release = StateRelease(
            clip_norm=self.plan.interleaving.state_clip_norm,
            noise_multiplier=self.plan.noise_multiplier,
        )
        # Each process releases the states of its own documents, and draws noise for all: with a
        # seed it is that of one process, and without one it is used for its own documents alone.
        own = torch.tensor([self._has(step, place) for place in going.tolist()])
        private = states[:, torch.from_numpy(going)] * own[:, None]
        stream = self.randomness.stream(STATES).stream(step.step)
        released = torch.stack(release.release((private[0], private[1]), stream))
        for place, document in enumerate(step.documents[going].tolist()):
            if bool(own[place]):
                self.waiting[document] = released[:, place].clone()

    def _set_rates(self, step: int) -> None:
        course, plan = self.course, self.plan
        factor = rate_factor(course.schedule, step, plan.steps, course.warm_up)
        set_rate(self.step.optimizer, course.learning_rate * factor)
        rate = plan.interleaving.public_learning_rate or course.learning_rate
        set_rate(self.public, rate * factor)
        if plan.private:
            noise = self.step.release.deviation(plan.noise_multiplier) / plan.batch_size
            tell_noise(self.step.optimizer, noise**2)

    @property
    def _most_places(self) -> int:
        return max(self.course.tokens_at_once, self.context)


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
    """Train a recurrent model on documents in turns; the guarantee of the trained model."""
    course, randomness = course or Course(), randomness or Randomness.secure()
    team = current_team()
    with failing_together(team):
        plan.require(records)
        run = InterleavedRun.begun(model, records, plan, course, randomness)
        try:
            with begun(team, folder, plan, randomness.stream(ORDER)) as (ledger, start):
                _resume(run, start)
                share_weights(team, run.network)
                _train(run, start, ledger, folder, watch)
        finally:
            run.step.close()
    guarantee = plan.guarantee()
    return guarantee if randomness.for_release else guarantee.reproducible()


def _train(
    run: InterleavedRun,
    start: Beginning,
    ledger: Ledger | None,
    folder: RunFolder | None,
    watch: WatchSteps | None,
) -> None:
    plan, team = run.plan, run.team
    if "order" not in start.saved:
        raise CannotResume("the order of the documents was not saved; start a new run")
    turns = run.records.turns
    steps = all_steps(turns, plan.batch_size, plan.epochs, start.saved["order"], first=start.first)
    held = team.size > 1
    with saving(run.course.checkpoint_every, plan.steps, kept=start.kept, team=held) as now:
        for step in steps:
            now.unsaved += 1
            began = time.perf_counter()
            with paid_if_undefined(ledger, now.unsaved):
                seen = run.take(step)
                due, (loss, tokens) = agree_to_save(team, now, step.step, seen)
                if due:
                    refuse_diverged(run.network)
            if due:
                if start.kept:
                    _save(run, ledger, folder, now.unsaved)
                now.saved()
            if watch:
                spent = time.perf_counter() - began
                watch(Progress(step.step + 1, loss / tokens, int(tokens), spent))
            now.stop_if_asked()


def _save(run: InterleavedRun, ledger: Ledger | None, folder: RunFolder | None, steps: int) -> None:
    team = run.team
    # First charge, then save: steps that a kill between the two loses are charged and not used.
    charged = led(team, lambda: ledger.charge(steps) if ledger else 0)
    refuse_other_weights(team, run.network, run.plan.clipping.norm, charged)
    # Waiting states were released: they have noise already. Each process has those of its own.
    waiting = {number: one for some in team.collect(run.waiting) for number, one in some.items()}

    def keep() -> None:
        if folder is not None:
            norm = run.plan.clipping.norm
            kept = Checkpoint.of(charged, run.network, run.step.optimizer, norm)
            more = {"public": run.public.state_dict(), "waiting": waiting}
            replace(kept, between=more).save(folder.checkpoint)

    led(team, keep)


def _resume(run: InterleavedRun, start: Beginning) -> None:
    checkpoint = start.checkpoint
    if checkpoint is None:
        return
    checkpoint.restore(run.network, run.step.optimizer)
    public, waiting = (checkpoint.between.get(name) for name in ("public", "waiting"))
    if (
        not isinstance(public, dict)
        or not run.may_wait(waiting)
        or not put_back(run.public, public)
    ):
        raise CannotResume("the checkpoint belongs to another method; start a new run")
    # If steps were lost, so were their states: unfinished documents continue from zero.
    if checkpoint.steps == start.first:
        size, rank = run.team.size, run.team.rank
        run.waiting = {number: one for number, one in waiting.items() if number % size == rank}
