"""Selective-DPSGD with separate streams: only what a policy finds is trained on with noise.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbors, for any architecture (``promise`` says why).

Why it holds
    A document in which the policy finds nothing never takes a private step. So a record without its
    private part adds nothing to the private sums, and the sensitivity is the clipping norm.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.training.methods.base import (
    FORMS,
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
    refuse_a_single_unit,
)
from sfumato.training.methods.fills import FILLS, MASKS, SURROGATES, Patterns, read_patterns
from sfumato.training.stages import countable

if TYPE_CHECKING:
    from sfumato.guarantees.guarantee import Guarantee
    from sfumato.histograms.thresholds import Noise
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import Between, WatchSteps
    from sfumato.training.methods.streams import Streams
    from sfumato.training.records import TokenRecords
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy


# Public steps use the streams 0 and 1 of their randomness.
FILLED = 2


@dataclass(frozen=True, kw_only=True)
class PublicCourse:
    """How much public training there is, and when.

    ``lead`` is the share of public steps taken before the first private one. The others are spread
    evenly between the private ones, the last of them before the last private step.
    """

    epochs: float = 3.0
    batch_size: int = 64
    learning_rate: float = 1e-3
    lead: float = 1.0

    def __post_init__(self) -> None:
        if self.epochs:
            positive("public epochs", self.epochs)
        at_least("public batch size", self.batch_size, 1)
        positive("public learning rate", self.learning_rate)
        between("lead", self.lead, 0.0, 1.0)

    def as_dict(self) -> dict[str, float]:
        """For a run's settings."""
        return asdict(self)

    def steps(self, records: int) -> int:
        """All public steps."""
        wanted = self.epochs * records / min(self.batch_size, records)
        countable(wanted)
        return round(wanted)

    def before(self, step: int, of: int, records: int) -> int:
        """How many public steps are taken in all before private step ``step`` (from 0).

        >>> course = PublicCourse(epochs=1, batch_size=10, lead=0.5)
        >>> [course.before(step, 4, 100) for step in range(4)]
        [5, 7, 8, 10]
        """
        whole = self.steps(records)
        first = round(self.lead * whole)
        if step == of - 1:
            return whole  # before the last private step all public ones are taken
        return first + round((whole - first) * step / (of - 1))


@dataclass(frozen=True)
class SelectiveTraining(TrainingMethod):
    """DP-SGD at private positions, ordinary steps on masked text before and between.

    ``public_epochs`` are passes over the masked text, twice as many as private ones unless given;
    ``public_learning_rate`` and ``public_batch_size`` are those of steps on it, the same as for
    private steps unless given. ``lead`` is the share of public steps that are taken before the
    first private one. ``fill`` is what stands there in the place of what the policy finds: masks,
    which are not predicted, or surrogates, which are (``fills``). ``fill_patterns`` are public
    forms of these, as ``LABEL=PATTERN``: ``ORDER=000-00000``. With ``fill_epsilon`` the forms of
    other types are learned first, privately, at that part of the level (``forms``).
    """

    name: ClassVar[str] = "selective"
    # Private steps are those of the method private; public ones may be rounded in any way.
    rounds_products: ClassVar[bool] = True
    needs_policy: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("causal",)
    # Public steps cost no privacy, and the model learns public text from them alone. Two passes
    # were best on generated dialogues, see docs/how-to-train-selectively.md.
    public_passes: ClassVar[int] = 2

    public_epochs: float | None = None
    public_learning_rate: float | None = None
    lead: float = 1.0
    public_batch_size: int | None = None
    fill: str = MASKS
    fill_patterns: tuple[str, ...] = ()
    fill_epsilon: float | None = None

    def __post_init__(self) -> None:
        epochs, rate, size = self.public_epochs, self.public_learning_rate, self.public_batch_size
        one_of("fill", self.fill, FILLS)
        if read_patterns(self.fill_patterns) and self.fill != SURROGATES:
            raise InvalidArgument(
                f"patterns are forms of made-up values; they need `fill={SURROGATES!r}`"
            )
        if self.fill_epsilon is not None:
            positive("fill_epsilon", self.fill_epsilon)
            if self.fill != SURROGATES:
                raise InvalidArgument(
                    "`fill_epsilon=...` learns forms of made-up values; it needs "
                    f"`fill={SURROGATES!r}`"
                )
        PublicCourse(
            epochs=1.0 if epochs is None else epochs,
            batch_size=1 if size is None else size,
            learning_rate=1.0 if rate is None else rate,
            lead=self.lead,
        )

    def check(self, request: Request) -> None:
        """A pattern is for a type that there is; a misspelt one would change nothing."""
        super().check(request)
        if self.fill_epsilon is not None:
            _check_part(self.fill_epsilon, request.privacy.epsilon)
        if self.fill_patterns and request.protection is not None:
            from sfumato.policies.labels import check_types

            check_types(read_patterns(self.fill_patterns), request.protection.policy)

    def prepare(self, task: Task) -> Prepared:
        """Two separate streams of records."""
        from sfumato.training.methods.streams import selective_streams

        streams = selective_streams(task.documents, task.policy, task.model.tokenizer, task.cut)
        material = TokenMaterial(self.private_records(streams), streams.public, streams.selected)
        refuse_a_single_unit(task, len(material.records))
        public = self.public_course(task.privacy, task.course)
        public.steps(len(streams.public))  # too many are refused before training begins
        patterns = read_patterns(self.fill_patterns)

        def between(known: Patterns, randomness: Randomness) -> Between:
            from sfumato.training.methods.streams import PublicSteps, make_filled_records

            records = streams.public
            if self.fill == SURROGATES:
                drawn = randomness.stream(FILLED)
                records = make_filled_records(
                    streams.splits, task.model.tokenizer, task.cut, drawn, known
                )
            return PublicSteps(task.model, records, public, task.course, randomness)

        if self.fill_epsilon is None:
            return prepare_steps(task, material, partial(between, patterns))
        return _prepare_after_forms(task, material, streams, self.fill_epsilon, patterns, between)

    def private_records(self, streams: Streams) -> TokenRecords:
        """Documents with private parts; only private positions are predicted."""
        return streams.private

    def public_course(self, privacy: Privacy, course: Course) -> PublicCourse:
        """How much public training there is, and when."""
        epochs, rate, size = self.public_epochs, self.public_learning_rate, self.public_batch_size
        return PublicCourse(
            epochs=privacy.epochs * self.public_passes if epochs is None else epochs,
            batch_size=privacy.batch_sizes[0] if size is None else size,
            learning_rate=course.learning_rate if rate is None else rate,
            lead=self.lead,
        )

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:
        """The public steps as they will be taken."""
        public: dict[str, object] = {**self.public_course(privacy, course).as_dict()}
        if self.fill != MASKS:  # older runs say nothing about it
            public["fill"] = self.fill
        if self.fill_patterns:
            public["fill_patterns"] = list(self.fill_patterns)
        if self.fill_epsilon is not None:
            public["fill_epsilon"] = self.fill_epsilon
        return {"public": public}


def _check_part(epsilon: float, whole: float) -> None:
    """Refuse a level of forms that leaves nothing of the whole for the private steps."""
    if math.isinf(whole):
        raise InvalidArgument(
            "`fill_epsilon=...` is a part of the level of the run, and `epsilon=inf` promises "
            "none; give a level, or public patterns of made-up values"
        )
    if epsilon >= whole:
        raise InvalidArgument(
            f"`fill_epsilon={epsilon:g}` is a part of `epsilon={whole:g}`, and nothing would be "
            "left for the private steps; give less, a tenth or so"
        )


def _prepare_after_forms(  # all that a run with forms is made of
    task: Task,
    material: TokenMaterial,
    streams: Streams,
    epsilon: float,
    patterns: Patterns,
    between: Callable[[Patterns, Randomness], Between],
) -> Prepared:
    """Steps after a private histogram of forms, which is drawn when all of it is paid for."""
    from sfumato.training.methods.forms import Forms, forms_of_run, learn_forms, refuse_vain
    from sfumato.training.methods.forms_plan import FormsPlan

    draft = task.privacy.draft(len(material.records))
    plan = FormsPlan.before(draft, epsilon).with_epsilon(task.privacy.epsilon)
    refuse_vain(streams.splits, patterns, plan.unit, plan.units, plan.forms)

    def fit(
        randomness: Randomness, folder: RunFolder | None, watch: WatchSteps | None
    ) -> Guarantee:
        from sfumato.core.progress import announce
        from sfumato.training.processes.meetings import led
        from sfumato.training.processes.team import current_team

        def learn(before: Callable[[Noise], None] | None) -> Forms:
            drawn = randomness.stream(FORMS)
            return learn_forms(
                streams.splits, patterns, plan.unit, plan.forms, drawn, before=before
            )

        def read_or_learn() -> Forms:
            forms, new = forms_of_run(folder, plan.forms, learn)
            if new:
                announce(forms.summary())
            return forms

        # Of several processes one draws, and tells the others what was released.
        forms = led(current_team(), read_or_learn)
        # Public patterns come first; their types have no forms.
        known = forms.weights() | dict(patterns)
        made = prepare_steps(task, material, partial(between, known), plan=plan)
        return made.fit(randomness, folder, watch)  # type: ignore[arg-type]  # as ``in_teams`` says

    return Prepared(plan, material, fit, in_teams=True)
