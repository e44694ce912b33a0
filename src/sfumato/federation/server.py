"""The server of a federation: who is asked in a round, what is made of the answers, what is saved.

Guarantee
    That of the plan, for all weights that leave the server, to clients, in checkpoints and in the
    model: a round is a step of a ``Plan`` whose units are the clients. No weights leave it before
    their round is charged.

Why it holds
    Coins of the plan decide who is asked, ``averaging`` bounds the answers and adds the plan's
    noise, and the optimizer (FedAvgM, Adam) is post-processing of the noisy mean. What a client
    computes depends on weights that were released, and on its own data. Every round is charged
    before it is saved, and before the next one is sent if rounds are sent; then
    ``checkpoint_every`` is 1. A killed server has charged a round, or has shown nothing of it: who
    is asked in its place is drawn anew.

Care
    The set of clients is fixed at the start, and its size is in the plan; a client that comes later
    is not asked. The server sees every update and who answers: the guarantee is for those who see
    weights. Secret coins lower the level; whoever sees which clients are asked knows them.

Reference
    FedAvgM: Hsu, Qi and Brown 2019, "Measuring the effects of non-identical data distribution for
    federated visual classification". Adam: Reddi et al. 2021, "Adaptive federated optimization".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from sfumato.accounting.ledger import Ledger
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.federation.averaging import Averaging, Reply
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import LoadedModel
from sfumato.training.checkpoints import (
    Checkpoint,
    Saving,
    last_checkpoint,
    ledger_of,
    paid_if_undefined,
    saving,
)
from sfumato.training.folder import RunFolder
from sfumato.training.loop import NOISE, ORDER, SAMPLING
from sfumato.training.optimizers import make_optimizer, rate_factor, set_rate, tell_noise
from sfumato.training.plan import LogicalBatch, Plan
from sfumato.training.settings import Course
from sfumato.training.steps import refuse_diverged


@dataclass(eq=False)
class Server:
    """The weights of a federation between rounds; made by ``opened``.

    For each of ``rounds``, ``weights`` are what its members begin with, and ``take`` is given their
    answers.
    """

    model: LoadedModel
    plan: Plan
    course: Course
    randomness: Randomness
    averaging: Averaging
    optimizer: torch.optim.Optimizer
    now: Saving
    ledger: Ledger | None = None
    folder: RunFolder | None = None

    @classmethod
    @contextmanager
    def opened(
        cls,
        model: LoadedModel,
        plan: Plan,
        course: Course,
        *,
        randomness: Randomness,
        folder: RunFolder | None = None,
    ) -> Iterator[Server]:
        """A new server, or one that goes on where a run in ``folder`` was stopped."""
        if plan.clipping.kind != "fixed":
            raise InvalidArgument(
                f"`clipping={plan.clipping.kind!r}` is for gradients; updates of clients are "
                "clipped to a fixed norm"
            )
        with ledger_of(folder, plan, randomness.stream(ORDER)) as ledger:
            checkpoint = last_checkpoint(folder, ledger)
            network = model.begin_training()
            trained = _trained(model)
            averaging = Averaging(trained, plan.clipping.norm if plan.private else None)
            optimizer = make_optimizer(course.optimizer, network.parameters(), course.learning_rate)
            if checkpoint is not None:
                checkpoint.restore(network, optimizer)
            with saving(course.checkpoint_every, plan.steps, kept=ledger is not None) as now:
                yield cls(
                    model, plan, course, randomness, averaging, optimizer, now, ledger, folder
                )

    @property
    def left(self) -> int:
        """How many rounds are to come."""
        return self.ledger.left if self.ledger else self.plan.steps

    def rounds(self) -> Iterator[LogicalBatch]:
        """The rounds that are left; their members are the clients to ask, a secret."""
        first = self.ledger.charged if self.ledger else 0
        saved = self.ledger.saved if self.ledger else self.plan.start(self.randomness.stream(ORDER))
        return self.plan.batches(self.randomness.stream(SAMPLING), saved, first=first)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights that are trained, which clients begin with."""
        return {name: one.detach().clone() for name, one in _trained(self.model).items()}

    def refuse_to_send_unsaved(self) -> None:
        """Refuse a server whose weights would leave it before their round is charged.

        One that was killed then would count rounds as not taken whose weights clients have seen,
        and take them again: two releases for the charge of one.
        """
        if self.ledger is not None and self.course.checkpoint_every != 1:
            raise InvalidArgument(
                "weights are sent to clients after every round, so every round must be charged and "
                "saved before: `checkpoint_every=1`"
            )

    def take(self, batch: LogicalBatch, start: dict[str, Tensor], replies: Iterable[Reply]) -> None:
        """Finish a round: what the noisy mean of all updates since ``start`` makes of the weights.

        When this returns, the weights may leave the server if ``checkpoint_every`` is 1.
        """
        self.now.unsaved += 1
        with paid_if_undefined(self.ledger, self.now.unsaved):
            noise = self.randomness.stream(NOISE).stream(batch.step)
            self._update(batch, start, self.averaging.mean(batch, start, replies, noise))
            due = self.now.due(batch.step)
            if due:
                refuse_diverged(self.model.network)
        if due:
            if self.ledger:
                self._save(self.ledger)
            self.now.saved()

    def guarantee(self) -> Guarantee:
        """What is guaranteed after all rounds."""
        stated = self.plan.guarantee()
        return stated if self.randomness.for_release else stated.reproducible()

    def _update(
        self, batch: LogicalBatch, start: dict[str, Tensor], mean: dict[str, Tensor]
    ) -> None:
        course, norm = self.course, self.averaging.clip_norm or 0.0
        tell_noise(self.optimizer, (batch.noise_multiplier * norm / batch.size) ** 2)
        factor = rate_factor(course.schedule, batch.step, self.plan.steps, course.warm_up)
        set_rate(self.optimizer, course.learning_rate * factor)
        for name, weight in _trained(self.model).items():
            weight.data.copy_(start[name])
            # The optimizer goes against a gradient, and along what clients have changed.
            weight.grad = mean[name].neg().to(weight)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def _save(self, ledger: Ledger) -> None:
        # First charge, then save, as in ``training.loop``.
        charged = ledger.charge(self.now.unsaved)
        if self.folder is not None:
            norm = self.averaging.clip_norm or 0.0
            kept = Checkpoint.of(charged, self.model.network, self.optimizer, norm)
            kept.save(self.folder.checkpoint)


def _trained(model: LoadedModel) -> dict[str, torch.nn.Parameter]:
    network: torch.nn.Module = model.network
    return {name: one for name, one in network.named_parameters() if one.requires_grad}
