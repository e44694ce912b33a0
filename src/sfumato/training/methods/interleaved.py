"""Selective-DPSGD as published, for recurrent models: plain and private steps in turns.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbors, for all weights and all states that ever leave a
    private stretch (``interleaved_plan`` says what it costs, ``interleaved_steps`` why it holds).

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.checks import one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import shown_settings
from sfumato.guarantees.guarantee import Guarantee
from sfumato.training.clipping.clippers import computable
from sfumato.training.methods.base import (
    TRAINING,
    Prepared,
    Task,
    TrainingMethod,
    refuse_a_single_unit,
)

if TYPE_CHECKING:
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import WatchSteps
    from sfumato.training.run import Request
    from sfumato.training.settings import Course, Privacy

STATES = ("noise", "reset")


@dataclass(frozen=True, kw_only=True)
class Interleaved(TrainingMethod):
    """What becomes of a state that leaves a private stretch, and the step size on public ones.

    ``state`` is ``noise`` (clipped to ``state_clip_norm`` and noised) or ``reset``. Without
    ``public_learning_rate`` public steps are as large as private ones.
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
        """Documents are read whole, by a model that carries a state."""
        super().check(request)
        if request.lora_rank or request.long != "split":
            raise InvalidArgument(
                "the method interleaved reads whole documents with a recurrent model; leave "
                "lora_rank out, and long at 'split'"
            )

    def prepare(self, task: Task) -> Prepared:
        """The documents in public and private stretches, and a plan for as many of them."""
        from sfumato.training.methods.interleaved_plan import InterleavedPlan
        from sfumato.training.methods.interleaved_steps import fit_interleaved, require_recurrent
        from sfumato.training.methods.stretch_records import stretch_records

        require_recurrent(task.model)
        records = stretch_records(task.documents, task.policy, task.model.tokenizer)
        refuse_a_single_unit(task, int((records.private > 0).sum()))
        plan = InterleavedPlan.of(records, task.privacy, self)

        def fit(randomness: Randomness, folder: RunFolder, watch: WatchSteps | None) -> Guarantee:
            return fit_interleaved(
                task.model,
                records,
                plan,
                task.course,
                randomness=randomness.stream(TRAINING),
                folder=folder,
                watch=watch,
            )

        return Prepared(plan, records, fit)

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """Its settings."""
        return {"public": None, "interleaving": shown_settings(self)}
