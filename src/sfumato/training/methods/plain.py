"""Ordinary steps on all documents, for comparison: no clipping, no noise, no guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.training.methods.base import (
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    prepare_steps,
)

if TYPE_CHECKING:
    from sfumato.training.settings import Course, Privacy


@dataclass(frozen=True)
class Plain(TrainingMethod):
    """The same steps as in private training, without clipping and noise."""

    name: ClassVar[str] = "plain"
    adds_noise: ClassVar[bool] = False
    weighs_groups: ClassVar[bool] = True
    saves_memory: ClassVar[bool] = True

    def prepare(self, task: Task) -> Prepared:
        """All documents, one stream."""
        return prepare_steps(task, TokenMaterial(task.records()))

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """There is nothing to set, and no public step."""
        return {"public": None}
