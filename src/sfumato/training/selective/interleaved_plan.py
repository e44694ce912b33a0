"""A plan for interleaved training: everything that decides its privacy.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbors: two corpora with the same public tokens and the
    same policy bits, of which one has the private part of one document replaced by null. It covers
    all weights and all released states together. ``interleaved_accounting`` says why.

Care
    K, the most private stretches of any document, decides the noise, and follows from the policy's
    bits, which are public by definition. One document with many stretches makes all others pay.

Who takes which turn when: full batches of stretches, each document once per epoch.

A step takes one turn of each of up to ``batch_size`` documents. Documents have different numbers of
turns. Were a batch of documents worked through until its longest one is done, most steps would
serve a few documents only, at the price of a full one; so a document that is done makes room for
the next.

Guarantee
    In every epoch each document takes all its turns, in reading order, and at most one in a step.
    So a record contributes to as many private sums per epoch as it has private stretches, once to
    each. The steps of an epoch are as few as can be, and their number is the same for every order.

Why it holds
    The turns of all documents are laid end to end, in the epoch's order, and the line is cut into
    lanes of equal length, of which step t takes what stands at t (McNaughton 1959). A lane is at
    least as long as a document has turns, so a document that is cut in two never meets itself. The
    order is drawn without looking at private text, and lengths are counted in turns, which are
    public: nothing rests on the order being secret.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.delta import caution, resolve_delta
from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, no_guarantee
from sfumato.training.bounds import COMPUTABLE_NORM, Clipping
from sfumato.training.plan import PrivacyCaution, check_record
from sfumato.training.privacy import Privacy
from sfumato.training.sampling import Sampling, Shuffled
from sfumato.training.selective.interleaved_accounting import Visits, paper_epsilon
from sfumato.training.selective.stretch_records import StretchRecords
from sfumato.training.stages import countable


@dataclass(frozen=True)
class Step:
    """The documents that take a turn, and which one; ``step`` counts from 0 over all epochs."""

    step: int
    documents: NDArray[np.int64]
    numbers: NDArray[np.int64]


def steps_per_epoch(turns: NDArray[np.int64], batch_size: int) -> int:
    """As few as can be: enough for all turns, and for the document with the most of them.

    >>> steps_per_epoch(np.array([1, 1, 5, 2]), 2), steps_per_epoch(np.array([1, 7]), 2)
    (5, 7)
    """
    return max(int(turns.max()), -(-int(turns.sum()) // batch_size))


def epoch(
    turns: NDArray[np.int64], batch_size: int, order: NDArray[np.intp]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For every step of an epoch the documents that take a turn, and which turn it is."""
    length = steps_per_epoch(turns, batch_size)
    counts = turns[order]
    owner = np.repeat(order, counts).astype(np.int64)
    begin = np.repeat(np.cumsum(counts) - counts, counts)
    place = np.arange(len(owner))
    # A document that is cut by the end of a lane goes on at the beginning of the next one, which is
    # earlier: those are its first turns.
    edge = (place // length) * length
    ahead = np.repeat(
        _beyond(begin_of=np.cumsum(counts) - counts, counts=counts, length=length), counts
    )
    numbers = np.where(edge > begin, place - edge, place - begin + ahead)
    for step in range(length):
        yield owner[step::length], numbers[step::length]


def all_steps(
    turns: NDArray[np.int64], batch_size: int, epochs: int, key: int, *, first: int = 0
) -> Iterator[Step]:
    """The steps from ``first`` on, in orders that follow from ``key``."""
    length, orders = steps_per_epoch(turns, batch_size), Randomness.reproducible(key)
    for number in range(first // length, epochs):
        order = orders.stream(number).uniform(len(turns)).argsort(kind="stable")
        for place, (documents, numbers) in enumerate(epoch(turns, batch_size, order)):
            step = number * length + place
            if step >= first:
                yield Step(step, documents, numbers)


def _beyond(
    *, begin_of: NDArray[np.int64], counts: NDArray[np.int64], length: int
) -> NDArray[np.int64]:
    """How many turns of each document stand in the lane behind the one in which it begins."""
    end_of_lane = (begin_of // length + 1) * length
    beyond: NDArray[np.int64] = np.maximum(0, begin_of + counts - end_of_lane)
    return beyond


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
        delta = resolve_delta(privacy.delta, units)
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
            epochs=_count(self.epochs, "epoch", "epochs"),
            stretches=_count(self.stretches, "private stretch", "private stretches"),
        )
        if not self.private:
            return replace(no_guarantee(unit=self.unit, scope=scope), record=self.record)
        return Guarantee(
            notion=Notion.APPROXIMATE_DP,
            unit=self.unit,
            neighbors="two corpora of which one lacks the private part of one document",
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
        why = _NOT_PROVEN[self.interleaving.state]
        return {"epsilon": write_number(level), "delta": self.delta, "proven": False, "why": why}

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


def _count(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
