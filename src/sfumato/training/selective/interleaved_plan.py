"""A plan for interleaved training: everything that decides its privacy.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbours: two corpora with the same public tokens and the
    same policy bits, of which one has the private part of one document replaced by null. It covers
    all weights and all released states together. ``interleaved_accounting`` says why.

Care
    K, the most private stretches of any document, decides the noise, and follows from the policy's
    bits, which are public by definition. One document with many stretches makes all others pay.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from sfumato.accounting.deltas import caution, resolved_delta
from sfumato.accounting.guarantee import Guarantee, Notion, no_guarantee
from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.training.bounds import COMPUTABLE_NORM, Clipping
from sfumato.training.plan import PrivacyCaution
from sfumato.training.privacy import Privacy
from sfumato.training.record_name import check_record
from sfumato.training.sampling import Sampling, Shuffled
from sfumato.training.selective.interleaved_accounting import Visits, paper_epsilon
from sfumato.training.selective.stretch_records import StretchRecords
from sfumato.training.selective.turn_order import steps_per_epoch
from sfumato.training.stages import countable

STATES = ("noise", "reset")
_SCOPE = "{what}, over {epochs} with at most {stretches} per document"
_WHAT = {
    "noise": "the weights of the model after every step and every state that left a private "
    "stretch",
    "reset": "the weights of the model after every step",
}
_PLAN = "the plan, the number of documents included"
_BITS = "how many private stretches every document has"
_TOGETHER = "what several documents of one person show together"
_NOT_PROVEN = {
    "noise": "not proven: it counts gradients alone, as if batches were secret; the states that "
    "are passed on are left out, and the public steps show who is in a batch",
    "reset": "not proven: it counts on secret batches, and the public steps show who is in a batch",
}


@dataclass(frozen=True, kw_only=True)
class Interleaving:
    """What becomes of a state that leaves a private stretch, and the step size on public ones.

    Without ``public_learning_rate`` public steps are as large as private ones.
    """

    state: str = "noise"
    state_clip_norm: float = 0.01
    public_learning_rate: float | None = None

    def __post_init__(self) -> None:
        one_of("state", self.state, STATES)
        norm = positive("state_clip_norm", self.state_clip_norm)
        between("state_clip_norm", norm, *COMPUTABLE_NORM)
        if self.public_learning_rate is not None:
            positive("public learning rate", self.public_learning_rate)

    def as_dict(self) -> dict[str, Any]:
        """For a run's settings."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class InterleavedPlan:
    """``units`` of the ``documents`` hold something private, in up to ``stretches`` stretches each.

    ``updates`` is how many private steps there are at most in an epoch, ``record`` what a document
    is.
    """

    unit: ClassVar[str] = "document"

    documents: int
    units: int
    stretches: int
    steps_per_epoch: int
    updates: int
    epochs: int
    batch_size: int
    noise_multiplier: float
    delta: float
    clipping: Clipping = field(default_factory=Clipping)
    interleaving: Interleaving = field(default_factory=Interleaving)
    record: str = ""

    def __post_init__(self) -> None:
        check_record(self.record, self.unit)

    @classmethod
    def of(
        cls, records: StretchRecords, privacy: Privacy, interleaving: Interleaving
    ) -> InterleavedPlan:
        """The plan with the least noise that keeps the level that was asked for."""
        epochs = _refuse_what_is_not_planned(privacy)
        private, size = records.private, min(privacy.batch_sizes[0], len(records))
        units, stretches = int((private > 0).sum()), int(private.max())
        delta = resolved_delta(privacy.delta, units)
        visits = Visits(epochs=epochs, stretches=stretches, state=interleaving.state)
        steps = steps_per_epoch(records.turns, size)
        countable(privacy.epochs * steps)
        said = caution(delta, units) if privacy.epsilon != math.inf else None
        if said is not None:
            warnings.warn(said, PrivacyCaution, stacklevel=2)
        return cls(
            documents=len(records),
            units=units,
            stretches=stretches,
            steps_per_epoch=steps,
            updates=min(steps, int(private.sum())),
            epochs=epochs,
            batch_size=size,
            noise_multiplier=visits.noise_for(privacy.epsilon, delta=delta),
            delta=delta,
            clipping=privacy.clipping,
            interleaving=interleaving,
            record=privacy.record,
        )

    def require(self, records: StretchRecords) -> None:
        """Refuse records that the plan was not made for: more stretches would cost more."""
        private = records.private
        has = (len(records), int((private > 0).sum()), int(private.max()))
        planned = (self.documents, self.units, self.stretches)
        each = steps_per_epoch(records.turns, self.batch_size)
        if has != planned or each != self.steps_per_epoch:
            raise InvalidArgument(
                "the plan is for {:,} documents, {:,} of them with something private in up to {:,} "
                "stretches; the records are others. Plan for the records that are trained "
                "on".format(*planned)
            )

    @property
    def steps(self) -> int:
        """All steps together; each takes one turn of up to ``batch_size`` documents."""
        return self.epochs * self.steps_per_epoch

    @property
    def private(self) -> bool:
        """Whether every private step has noise."""
        return self.noise_multiplier > 0

    @property
    def sampling(self) -> Sampling:
        """Each document once per epoch; nothing is gained from the order."""
        return Shuffled()

    def visits(self, after_steps: int | None = None) -> Visits:
        """How often a record was used at most; an epoch that has begun counts in full."""
        steps = self.steps if after_steps is None else at_least("steps", after_steps, 0)
        return Visits(
            epochs=-(-steps // self.steps_per_epoch),
            stretches=self.stretches,
            state=self.interleaving.state,
        )

    def epsilon(self, after_steps: int | None = None) -> float:
        """The proven level after so many steps; infinite without noise."""
        return self.visits(after_steps).epsilon(self.noise_multiplier, delta=self.delta)

    def guarantee(self) -> Guarantee:
        """The promise about the trained model, before a policy is named."""
        scope = _SCOPE.format(
            what=_WHAT[self.interleaving.state],
            epochs=_counted(self.epochs, "epoch", "epochs"),
            stretches=_counted(self.stretches, "private stretch", "private stretches"),
        )
        if not self.private:
            return replace(no_guarantee(unit=self.unit, scope=scope), record=self.record)
        return Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit=self.unit,
            neighbours="two corpora of which one lacks the private part of one document",
            epsilon=max(self.epsilon(), 1e-12),
            delta=self.delta,
            record=self.record,
            scope=scope,
            leaks=(_PLAN, _BITS),
            uncovered=(_TOGETHER,),
        )

    def as_in_the_paper(self) -> dict[str, Any]:
        """The level by the paper's own accounting, marked as what it is."""
        level = paper_epsilon(
            noise_multiplier=self.noise_multiplier,
            rate=self.batch_size / self.documents,
            updates=self.epochs * self.updates,
            delta=self.delta,
        )
        written: float | str = "inf" if math.isinf(level) else level
        why = _NOT_PROVEN[self.interleaving.state]
        return {"epsilon": written, "delta": self.delta, "proven": False, "why": why}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        values = asdict(self)
        if not self.record:
            del values["record"]
        return values | {"kind": "interleaved", "unit": self.unit, "steps": self.steps}


def _refuse_what_is_not_planned(privacy: Privacy) -> int:
    """Settings that interleaved training does not have; otherwise the number of epochs."""
    problem = None
    if privacy.epochs != int(privacy.epochs) or privacy.epochs < 1:
        problem = f"epochs={privacy.epochs:g}: documents are visited a whole number of times"
    elif len(privacy.batch_sizes) > 1 or privacy.noise_schedule != (1.0,):
        problem = "batch size and noise do not change along the way"
    elif privacy.clipping.kind == "adaptive":
        problem = "adaptive clipping is not accounted for; take fixed or automatic"
    elif privacy.accountant != "pld":
        problem = f"accountant={privacy.accountant!r}: the level is exact, in closed form"
    elif privacy.unit != "example":
        problem = f"unit={privacy.unit!r}: a record is one document"
    if problem is not None:
        raise InvalidArgument(
            f"the method interleaved: {problem} (the method selective has no such limit)"
        )
    return int(privacy.epochs)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
