"""Everything that can be chosen about training, as flat settings: what commands and studies take.

``Training`` is turned into the objects that do the work: what decides privacy, the method, the
course. Settings that the chosen method has no use for are refused, because whoever gives one
expects it to matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument
from sfumato.policies.policy import Policy
from sfumato.training.bounds import choose_clipping
from sfumato.training.course import Course
from sfumato.training.methods import METHODS, WITH_PUBLIC_STEPS, WITHOUT_NOISE, Method
from sfumato.training.privacy import Privacy
from sfumato.training.selective.interleaved_plan import Interleaving
from sfumato.training.selective.public_steps import PublicCourse

# Found on generated dialogues, see docs/how-to-train-selectively.md.
PUBLIC_PASSES = 2


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of ``sfumato train`` under the same names; None is the method's usual value."""

    method: str = "private"
    epsilon: float | None = None
    delta: float | str = "auto"
    unit: str = "example"
    record: str = ""
    epochs: float = 3.0
    batch_size: int | tuple[int, ...] = 64
    noise_schedule: tuple[float, ...] = (1.0,)
    clip_norm: float = 1.0
    clipping: str = "fixed"
    sampling: str = "poisson"
    accountant: str = "pld"
    learning_rate: float = 1e-3
    optimizer: str = "adam"
    schedule: str = "constant"
    public_epochs: float | None = None
    public_learning_rate: float | None = None
    lead: float | None = None
    state: str | None = None
    state_clip_norm: float | None = None
    tokens_at_once: int = 4096
    checkpoint_every: int = 50

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        if self.epsilon is None and self.method not in WITHOUT_NOISE:
            raise InvalidArgument(
                f"`epsilon=...` is missing: the method {self.method} needs a level (or inf, "
                "for no privacy)"
            )

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """One for each stage."""
        return (self.batch_size,) if isinstance(self.batch_size, int) else self.batch_size

    def privacy(self) -> Privacy:
        """What decides privacy."""
        return Privacy(
            epsilon=math.inf if self.epsilon is None else self.epsilon,
            delta=self.delta,
            epochs=self.epochs,
            batch_sizes=self.batch_sizes,
            noise_schedule=self.noise_schedule,
            unit=self.unit,
            record=self.record,
            sampling=self.sampling,
            clipping=choose_clipping(self.clipping, self.clip_norm, self.batch_sizes),
            accountant=self.accountant,
        )

    def course(self) -> Course:
        """What decides none."""
        return Course(
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            schedule=self.schedule,
            tokens_at_once=self.tokens_at_once,
            checkpoint_every=self.checkpoint_every,
        )

    def with_policy(self, policy: Policy | None) -> Method:
        """The method, which protects what the policy finds if it is selective."""
        public = (self.public_epochs, self.public_learning_rate, self.lead)
        if self.method == "interleaved":
            return self._interleaved(policy)
        if self.state is not None or self.state_clip_norm is not None:
            raise InvalidArgument("state and state_clip_norm are for the method interleaved")
        if self.method in WITH_PUBLIC_STEPS:
            return Method(self.method, policy, self._public_course())
        if any(one is not None for one in public):
            raise InvalidArgument(
                "public_epochs, public_learning_rate and lead are for the methods "
                + " and ".join(WITH_PUBLIC_STEPS)
            )
        return Method(self.method, policy)

    def _public_course(self) -> PublicCourse:
        if self.method == "twice" and self.lead not in (None, 1.0):
            raise InvalidArgument("twice takes all public steps first; leave lead out")
        # Public steps cost no privacy, and a selective model learns the rest from them alone.
        usual_epochs = self.epochs * (1 if self.method == "twice" else PUBLIC_PASSES)
        return PublicCourse(
            epochs=_first(self.public_epochs, usual_epochs),
            batch_size=self.batch_sizes[0],
            learning_rate=_first(self.public_learning_rate, self.learning_rate),
            lead=_first(self.lead, PublicCourse().lead),
        )

    def _interleaved(self, policy: Policy | None) -> Method:
        if self.public_epochs is not None or self.lead is not None:
            raise InvalidArgument(
                "interleaved reads public and private stretches in turns; leave public_epochs and "
                "lead out"
            )
        usual = Interleaving()
        interleaving = Interleaving(
            state=usual.state if self.state is None else self.state,
            state_clip_norm=_first(self.state_clip_norm, usual.state_clip_norm),
            public_learning_rate=self.public_learning_rate,
        )
        return Method("interleaved", policy, interleaving=interleaving)


def _first(*values: float | None) -> float:
    return next(float(value) for value in values if value is not None)
