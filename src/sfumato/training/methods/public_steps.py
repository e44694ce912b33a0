"""Ordinary steps on public text between private ones.

Guarantee
    None is needed: a public step is a function of the weights so far, which are released, of public
    text, and of its own randomness. From the same weights it is bitwise the plain step, whatever
    the secrets of the corpus are.

Why it holds
    The records hold masks where something private stood. Their order comes from a stream of its own
    and not from that of the private sample, so it tells nothing about who is in that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import CannotResume
from sfumato.core.randomness import Randomness
from sfumato.models.architecture import draw_weights_from
from sfumato.models.load import LoadedModel
from sfumato.training.batches import physical_batches
from sfumato.training.clipping.losses import record_losses
from sfumato.training.methods.selective import PublicCourse
from sfumato.training.optimizers import make_optimizer, put_back
from sfumato.training.records import TokenRecords
from sfumato.training.settings import Course


class PublicSteps:
    """The public stream, and where it stands."""

    def __init__(
        self,
        model: LoadedModel,
        records: TokenRecords,
        public: PublicCourse,
        course: Course,
        randomness: Randomness,
    ) -> None:
        self.model, self.records, self.public, self.course = model, records, public, course
        self.optimizer = make_optimizer(
            "sgd" if course.optimizer == "sgd" else "adam",
            model.network.parameters(),
            public.learning_rate,
        )
        self.taken = 0
        self._randomness = randomness
        self._batches = self._endless(randomness.stream(0))

    def reach(self, step: int, of: int) -> None:
        """Take the public steps that come before private step ``step`` of so many."""
        wanted = self.public.before(step, of, len(self.records))
        while self.taken < wanted:
            self._step(next(self._batches))
            self.taken += 1

    def state(self) -> dict[str, Any]:
        """For a checkpoint; all of it follows from public text and released weights."""
        return {"taken": self.taken, "optimizer": self.optimizer.state_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a checkpoint; the order of what is left is drawn anew."""
        taken, optimizer = state.get("taken"), state.get("optimizer")
        if (
            not isinstance(taken, int)
            or not isinstance(optimizer, dict)
            or not put_back(self.optimizer, optimizer)
        ):
            raise CannotResume("the checkpoint belongs to another method; start a new run")
        self.taken = taken

    def _step(self, members: NDArray[np.int64]) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        groups = physical_batches(
            self.records,
            members,
            most_tokens=max(self.course.tokens_at_once, self.records.context),
            divisor=self.course.divisor,
        )
        with draw_weights_from(self._randomness.stream(1).stream(self.taken)):
            for group in groups:
                for rows in group:
                    logits = self.model.network(
                        input_ids=rows.input_ids, attention_mask=rows.attention_mask
                    ).logits
                    losses = record_losses(logits, rows.labels, divisor=1.0) * rows.weights
                    (losses.sum() / len(members)).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _endless(self, randomness: Randomness) -> Iterator[NDArray[np.int64]]:
        """Every record once per pass, in random order."""
        size = min(self.public.batch_size, len(self.records))
        waiting = np.empty(0, dtype=np.int64)
        passes = 0
        while True:
            while len(waiting) < size:
                order = np.argsort(randomness.stream(passes).uniform(len(self.records)))
                waiting, passes = np.concatenate([waiting, order]), passes + 1
            yield waiting[:size]
            waiting = waiting[size:]
