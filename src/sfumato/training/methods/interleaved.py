"""Selective-DPSGD as published, for recurrent models: plain and private steps in turns.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbors: two corpora with the same public tokens and the
    same policy bits, where in one of them the private part of one document is replaced by null. It
    covers all weights and all states that leave a private stretch, together (``interleaved_steps``
    says why).

What it costs
    E epochs of at most K private stretches per record are together one Gaussian release with shift
    μ = (s/σ)·√(E·K·(1 + r)), where σ is the noise multiplier of gradients and of states; s = 1 for
    zero-out neighbors (a record's private part is null in one corpus: gradient 0, state 0), s = 2
    for replacement (its private part is another one); r = 0 if states are reset, 1 if hidden and
    cell state are clipped together, 2 if each is clipped to the bound separately.

Why it holds
    Fix which documents are in which step; that is public, see below. In an epoch a record adds to
    at most K sums of clipped gradients and has at most K states released; each moves by at most
    s·C, with noise of σ·C. Everything else is computed from what was released and from public text.
    Adaptive Gaussian releases compose to a Gaussian release: the squares of the shifts add up.

Why there is no amplification by sampling
    The public stretches of the same documents take a plain step, without noise. Whoever sees the
    weights before and after it can tell which public text it was, so the batch is not secret.

As in the paper
    Shi et al. 2022 account for Poisson-sampled gradients alone: for no states, and as if the batch
    were secret. That level is stated beside ours for comparison; it is not proven, and it does not
    hold.

Care
    K, the largest number of private stretches of any document, decides the noise. It follows from
    the policy's bits, which are public by definition. One document with many stretches increases
    the noise for all.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (algorithm 1). Dong,
    Roth and Su 2022, "Gaussian differential privacy" (corollary 3.3).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.budget.costs import Costs
from sfumato.accounting.delta import caution, resolve_delta
from sfumato.accounting.events import SampledGaussian, computable_noise
from sfumato.accounting.gaussian import gaussian_epsilon
from sfumato.accounting.solving import least, round_up
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.core.settings import shown_settings
from sfumato.guarantees.guarantee import Guarantee, Notion, no_guarantee
from sfumato.guarantees.record import check_record
from sfumato.training.clipping.clippers import Clipping, computable
from sfumato.training.methods.base import (
    TRAINING,
    Prepared,
    Task,
    TrainingMethod,
    refuse_a_single_unit,
)
from sfumato.training.plan import PrivacyCaution
from sfumato.training.sampling import Shuffled
from sfumato.training.stages import countable

if TYPE_CHECKING:
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import WatchSteps
    from sfumato.training.methods.stretch_records import StretchRecords
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy

STATES = ("noise", "reset")
# How far a record's contribution may move between neighbors, in units of the clipping norm.
MOVES = {"zero-out": 1.0, "replacement": 2.0}
# How many releases a state adds to the gradient of its stretch.
RELEASES = {"reset": 0, "noise": 1, "separate": 2}


@dataclass(frozen=True, kw_only=True)
class Interleaved(TrainingMethod):
    """How states that leave a private stretch are treated, and the step size on public stretches.

    ``state`` is ``noise`` (clipped to ``state_clip_norm``, with noise) or ``reset``. Without
    ``public_learning_rate`` public steps have the learning rate of private ones.
    """

    name: ClassVar[str] = "interleaved"
    needs_policy: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("causal",)

    state: str = "noise"
    state_clip_norm: float = 0.01
    public_learning_rate: float | None = None

    def __post_init__(self) -> None:
        one_of("state", self.state, STATES)
        computable("state_clip_norm", self.state_clip_norm)
        if self.public_learning_rate is not None:
            positive("public learning rate", self.public_learning_rate)

    def check(self, request: Request) -> None:
        """Whole documents are read, by a recurrent model."""
        super().check(request)
        if not request.trained.whole or request.long != "split":
            raise InvalidArgument(
                "the method interleaved trains all of a recurrent model on whole documents; leave "
                "lora_rank and trainable out, and long at 'split'"
            )

    def prepare(self, task: Task) -> Prepared:
        """The documents in public and private stretches, and the plan for them."""
        from sfumato.training.methods.interleaved_steps import fit_interleaved, require_recurrent
        from sfumato.training.methods.stretch_records import stretch_records

        require_recurrent(task.model)
        records = stretch_records(task.documents, task.policy, task.model.tokenizer)
        refuse_a_single_unit(task, int((records.private > 0).sum()))
        plan = InterleavedPlan.of(records, task.privacy, self)

        def fit(
            randomness: Randomness, folder: RunFolder | None, watch: WatchSteps | None
        ) -> Guarantee:
            return fit_interleaved(
                task.model,
                records,
                plan,
                task.course,
                randomness=randomness.stream(TRAINING),
                folder=folder,
                watch=watch,
            )

        return Prepared(plan, records, fit, in_teams=True)

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """Its settings."""
        return {"public": None, "interleaving": shown_settings(self)}


@dataclass(frozen=True, kw_only=True)
class Visits:
    """How often a record is used: ``epochs`` times, in up to ``stretches`` private stretches.

    >>> visits = Visits(epochs=50, stretches=1, state="noise")
    >>> round(visits.epsilon(0.5, delta=8e-5)), round(visits.noise_for(4.91, delta=8e-5), 1)
    (275, 8.2)
    """

    epochs: int
    stretches: int
    state: str = "noise"
    neighbors: str = "zero-out"

    def __post_init__(self) -> None:
        at_least("epochs", self.epochs, 0, None)
        at_least("stretches", self.stretches, 1)
        one_of("state", self.state, RELEASES)
        one_of("neighbors", self.neighbors, MOVES)

    @property
    def releases(self) -> int:
        """The largest number of Gaussian releases that a record takes part in."""
        return self.epochs * self.stretches * (1 + RELEASES[self.state])

    def shift(self, noise_multiplier: float) -> float:
        """μ of all releases together, as one Gaussian release."""
        if not self.releases:
            return 0.0
        if not computable_noise("noise_multiplier", noise_multiplier):
            return math.inf
        return MOVES[self.neighbors] / noise_multiplier * math.sqrt(self.releases)

    def epsilon(self, noise_multiplier: float, *, delta: float) -> float:
        """The proven level; infinite without noise."""
        return gaussian_epsilon(self.shift(noise_multiplier), delta)

    def noise_for(self, epsilon: float, *, delta: float) -> float:
        """The least noise multiplier that keeps a level; 0 for an infinite one."""
        if epsilon == math.inf:
            return 0.0
        positive("epsilon", epsilon)
        found = least(
            lambda noise: self.epsilon(noise, delta=delta), epsilon, math.sqrt(self.releases)
        )
        if not 0 < found < math.inf:
            raise InvalidArgument(f"epsilon={epsilon:g} cannot be planned; choose another level")
        return round_up(found)


def paper_epsilon(*, noise_multiplier: float, rate: float, updates: int, delta: float) -> float:
    """The level that the paper would state for these private updates; it is not proven.

    Rényi divergences of Poisson-sampled gradients, as in the paper's moments accountant.
    """
    if not noise_multiplier:
        return math.inf
    event = SampledGaussian(noise_multiplier=noise_multiplier, rate=min(1.0, rate), count=updates)
    return compute_spending([event], "rdp").epsilon(delta)


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
class InterleavedPlan:
    """``units`` of the ``documents`` hold something private, in up to ``stretches`` stretches each.

    ``updates`` is the largest number of private steps in an epoch, and ``record`` says what a
    document is.
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
    interleaving: Interleaved = field(default_factory=Interleaved)
    record: str = ""

    def __post_init__(self) -> None:
        check_record(self.record, self.unit)

    @classmethod
    def of(
        cls, records: StretchRecords, privacy: Privacy, interleaving: Interleaved
    ) -> InterleavedPlan:
        """The plan with the least noise that keeps the requested level."""
        from sfumato.training.methods.stretch_records import steps_per_epoch

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
        """Refuse records that the plan was not made for: with more stretches the cost is higher."""
        from sfumato.training.methods.stretch_records import steps_per_epoch

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

    def start(self, randomness: Randomness) -> Mapping[str, int]:
        """Each document once per epoch, in a random order that need not be secret."""
        return Shuffled().start(randomness)

    def so_far(self, steps: int) -> float:
        """The proven level, which has a closed form."""
        return self.epsilon(steps)

    def summary(self) -> str:
        """Steps and noise in a line."""
        if not self.private:
            return f"{self.steps:,} steps without noise: nothing will be guaranteed"
        return f"{self.steps:,} steps with noise multiplier {self.noise_multiplier:.4g}"

    def visits(self, after_steps: int | None = None) -> Visits:
        """The largest number of uses of a record; an epoch that has begun counts in full."""
        steps = self.steps if after_steps is None else at_least("steps", after_steps, 0)
        return Visits(
            epochs=-(-steps // self.steps_per_epoch),
            stretches=self.stretches,
            state=self.interleaving.state,
        )

    def epsilon(self, after_steps: int | None = None) -> float:
        """The proven level after so many steps; infinite without noise."""
        return self.visits(after_steps).epsilon(self.noise_multiplier, delta=self.delta)

    def costs(self, after_steps: int | None = None) -> Costs:
        """What the first steps cost in divergences: those of one Gaussian release."""
        shift = self.visits(after_steps).shift(self.noise_multiplier)
        stated = self.guarantee()
        return Costs(
            unit=stated.unit,
            neighbors=stated.neighbors,
            events=(SampledGaussian(noise_multiplier=1 / shift),) if shift else (),
        )

    def guarantee(self) -> Guarantee:
        """The guarantee of the trained model, before a policy is named."""
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
        """The level by the paper's own accounting, marked as not proven."""
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
    """Refuse settings that interleaved training does not support; the number of epochs."""
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
